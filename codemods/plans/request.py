"""What is asked of the helpers of one file, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codemods.decide.annotate import Style
from codemods.decide.refusals import Refusal
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.plans.modules import Layout
from codemods.plans.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which helpers to lift; to which files (none: next to the outer function), under which names.

    Unless ``strict``, a name that is taken in a file is replaced by another. If the source is
    ``star_imported``, it gets no new public names.
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

    @property
    def layout(self) -> Layout:
        """The places of the source and of what is left of it."""
        return self.site.layout


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file's helpers: new texts by path, where lifted ones went, why others were refused.

    ``lifted`` has for each lifted helper the names of the outer functions' variables that it is passed.
    """

    files: Mapping[Path, str]
    targets: Mapping[Helper, Path]
    lifted: Mapping[Helper, frozenset[str]]
    refused: Mapping[Helper, Refusal]


Lift = Callable[[Analysis, Request], Outcome]
