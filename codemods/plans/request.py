"""Requests about the helpers of one file, and their outcomes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from codemods.equal.code import NotProven
from codemods.plans.site import Site
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.modules import Module, Project
from codemods.program.repository import dotted_name, import_base
from codemods.rewrites.refusals import Accepted, Refusal, refuse
from codemods.rewrites.text.file import TextNotPreserved
from codemods.values.annotations import Annotations
from codemods.values.classes import Stated


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which helpers to lift; to which files (none: next to the outer function), under which names.

    With ``private``, the source gets no new public names. Of helpers in ``wrapper`` a closure is to stay, and
    what those in ``cell`` rebind is to be kept in an object.
    """

    site: Site
    wanted: Collection[Helper]
    targets: Mapping[Helper, Path]
    renames: Mapping[Helper, str] = field(default_factory=dict)
    docstrings: Mapping[Path, str] = field(default_factory=dict)
    seams: frozenset[str]
    private: bool
    wrapper: frozenset[Helper] = frozenset()
    cell: frozenset[Helper] = frozenset()
    accepted: Accepted = field(default_factory=Accepted)

    def translated(self, now: Mapping[Helper, Helper]) -> Request:
        """Make the same request about a rewritten file; ``now`` has what each helper has become."""
        renames = {now[helper]: name for helper, name in self.renames.items()}
        # A body that a wrapper calls goes by the helper's own name, if the wrapper does not move with others.
        inner = {h for h in self.wrapper if any(h.scope.inside(o.scope) for o in self.wanted if o is not h)}
        names = {now[helper]: helper.name for helper in self.wrapper - inner if helper in now} | renames
        return replace(
            self,
            wanted=[now[helper] for helper in self.wanted],
            targets={now[helper]: path for helper, path in self.targets.items()},
            renames=names,
            wrapper=frozenset(now[helper] for helper in self.wrapper),
            cell=frozenset(now[helper] for helper in self.cell),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a file's helpers: new texts by path, which were lifted, why others were refused."""

    files: Mapping[Path, str]
    lifted: Collection[Helper]
    refused: Mapping[Helper, Refusal]


def refusal_of(failure: NotProven | TextNotPreserved, line: int) -> Refusal:
    """Refuse something in a line whose proof fails, or whose text can't be preserved."""
    if isinstance(failure, NotProven):
        return refuse("not-proven", line, failure.what)
    return refuse("layout", failure.line, "this line can't be kept as it is written")


def annotations_of(analysis: Analysis, site: Site) -> Annotations:
    """Infer annotations of a file's captures, with the project's other files as plans made them so far.

    None gets an annotation where the project checks annotations when it runs.
    """

    def made() -> Annotations:
        layout = site.layout
        apart = dotted_name(layout.source, import_base(layout.source))
        names = tuple(dict.fromkeys((site.home, layout.dotted(layout.source) or apart)))
        own = Module(names[0], layout.source_package or "", analysis.source.tree)
        stated = Stated(Project(site.find, own, names[1:]))
        return Annotations(analysis, stated, known=not site.surroundings.checks_annotations)

    return analysis.tree.once("annotations", made)
