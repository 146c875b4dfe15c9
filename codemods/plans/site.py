"""Where a file is taken apart: its place, the project as it will be, and what that does with its names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.facts.repository import python_files
from codemods.facts.source import Source
from codemods.facts.surroundings import Surroundings
from codemods.plans.modules import Layout
from codemods.plans.overlay import Overlay
from codemods.rewrite.imports import ImportSection


@dataclass(frozen=True, slots=True)
class Site:
    """One file, and the project around it."""

    layout: Layout
    overlay: Overlay
    surroundings: Surroundings

    @property
    def home(self) -> str:
        """What is left of the file, as it is imported."""
        return self.layout.dotted(self.layout.rest)

    def start_of(self, path: Path) -> Source | None:
        """What a target has before anything is added."""
        return self.overlay.start_of(path, self.layout.shown(path), fresh=self.layout.frozen)

    def imports(self, source: Source, made: Sequence[str]) -> ImportSection:
        """No imports yet, of what is left of a source, which imports from modules that are ``made``."""
        return ImportSection(
            self.layout.folders, manner=self.layout.manner(source, self.layout.rest), made=made
        )


def site_of(source: Source, layout: Layout, overlay: Overlay) -> Site:
    """Where a source is taken apart."""
    folder = layout.root if (layout.root in layout.rest.parents) else layout.base

    def files() -> Iterator[tuple[Path, bytes]]:
        return ((path, overlay.data(path)) for path in python_files(folder) if overlay.counts(path))

    return Site(layout, overlay, Surroundings(source, layout.rest, folder, files))
