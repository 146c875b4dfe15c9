"""Requests about the helpers of one file, and their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codemods.plans.site import Site
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.modules import Module, Project
from codemods.program.repository import dotted_name, import_base
from codemods.rewrites.refusals import Accepted, Refusal
from codemods.values import Style
from codemods.values.annotations import Annotations
from codemods.values.stated import Stated


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which helpers to lift; to which files (none: next to the outer function), under which names.

    Unless ``strict``, a name that is taken in a file is replaced by another. If the source is
    ``star_imported``, it gets no new public names. Of helpers in ``residual`` one is to stay, the captures of
    those in ``context`` are to be collected, and what those in ``box`` rebind is to be kept in an object.
    """

    site: Site
    wanted: Collection[Helper]
    targets: Mapping[Helper, Path]
    renames: Mapping[Helper, str] = field(default_factory=dict)
    docstrings: Mapping[Path, str] = field(default_factory=dict)
    seams: frozenset[str]
    strict: bool
    star_imported: bool
    annotations: Style
    residual: frozenset[Helper] = frozenset()
    context: frozenset[Helper] = frozenset()
    box: frozenset[Helper] = frozenset()
    wrapped: frozenset[Helper] = frozenset()
    accepted: Accepted = field(default_factory=Accepted)

    @property
    def collected(self) -> frozenset[Helper]:
        """Helpers whose captures are collected: a residual reads them late, and passes them as parameters."""
        return self.context - self.residual


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a file's helpers: new texts by path, which were lifted, why others were refused.

    ``lifted`` has for each lifted helper the names of the outer functions' variables that it is passed.
    """

    files: Mapping[Path, str]
    lifted: Mapping[Helper, frozenset[str]]
    refused: Mapping[Helper, Refusal]


Lift = Callable[[Analysis, Request], Outcome]


def annotations_of(analysis: Analysis, request: Request) -> Annotations:
    """Infer annotations of a file's captures, with the project's other files as plans made them so far.

    None gets an annotation where the project checks annotations when it runs.
    """
    style = request.annotations
    if style != "none" and request.site.surroundings.checks_annotations:
        style = "none"
    project = project_of(analysis, request.site)
    return analysis.tree.once(f"annotations {style}", lambda: Annotations(analysis, Stated(project), style))


def project_of(analysis: Analysis, site: Site) -> Project:
    """The project around a file, with its other files as plans made them so far."""
    layout = site.layout
    apart = dotted_name(layout.source, import_base(layout.source))
    names = tuple(dict.fromkeys((site.home, layout.dotted(layout.source) or apart)))
    own = Module(names[0], layout.source_package or "", analysis.source.tree)
    return analysis.tree.once("project", lambda: Project(site.find, own, names[1:]))
