"""Files as modules: what a file is imported as, seen from the files around it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from codemods.facts.imports import Manner, manner_of
from codemods.facts.repository import dotted_name, folder_package, import_base, package_of
from codemods.facts.source import Source


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the source module's text comes from, where what is left of it goes, and how both are imported.

    With a ``frozen`` source nothing is taken out of it, and the plan's files are made afresh each time.
    """

    root: Path
    source: Path
    rest: Path
    frozen: bool = False

    @property
    def base(self) -> Path:
        """The folder from which the rest's dotted name starts: above its outermost package."""
        return import_base(self.rest)

    def dotted(self, path: Path) -> str:
        """What a file below the base is imported as.

        Raises:
            ValueError: if it is not below the base.
        """
        return dotted_name(path, self.base)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where modules of the project are looked for."""
        return (self.base, self.root, self.root / "src")

    @property
    def source_package(self) -> str | None:
        """The package of the source as it was, for its relative imports."""
        return folder_package(self.source) or None

    def package_of(self, path: Path) -> str:
        """The package of a file that may not be there yet; empty if it is in none that is known."""
        try:
            return package_of(path, self.dotted(path))
        except ValueError:
            return ""

    def manner(self, source: Source, path: Path) -> Manner:
        """How a file that is made of the source imports from its package: as the source does, which loses its
        own way where it goes to another place.
        """
        if self.rest != self.source or self.source_package is None:
            return Manner()
        dots = manner_of(source.tree, self.source_package).dots
        return Manner(self.package_of(path), dots)

    def shown(self, path: Path) -> str:
        """A path as reports print it: relative to the root where it lies below it."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()


def find_root(start: Path) -> Path:
    """The nearest folder upwards with a pyproject.toml or .git, else the current one if it is around."""
    folder = start.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file() or (candidate / ".git").exists():
            return candidate
    return Path.cwd() if Path.cwd() in (folder, *folder.parents) else folder


def cycle_in(needs: Mapping[str, Collection[str]]) -> list[str]:
    """Modules that would import each other, sorted; ``needs`` says which modules each one imports."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []
