"""Where a file is taken apart: its place, the project as it will be, and what that does with its names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codemods.program.imports import Manner, manner_of
from codemods.program.modules import Find, found_below
from codemods.program.repository import dotted_name, folder_package, import_base, package_of, python_files
from codemods.program.source import Source, SourceError, decode_source, read_source
from codemods.program.surroundings import Surroundings
from codemods.rewrites.text.imports import ImportSection


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

    def dotted(self, path: Path) -> str | None:
        """Name the module of a file; None for one that is not below the base."""
        return dotted_name(path, self.base) if self.base in path.parents else None

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
        module = self.dotted(path)
        return "" if module is None else package_of(path, module)

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


class Disk:
    """The Python files of a project as they are, each listed and read once."""

    def __init__(self) -> None:
        self._data: dict[Path, bytes | None] = {}
        self._listed: dict[Path, list[Path]] = {}

    def files(self, folder: Path) -> list[Path]:
        """List the files below a folder."""
        if folder not in self._listed:
            self._listed[folder] = list(python_files(folder))
        return self._listed[folder]

    def found(self, path: Path) -> bytes | None:
        """Read a file; None where there is none."""
        if path not in self._data:
            self._data[path] = path.read_bytes() if path.is_file() else None
        return self._data[path]


@dataclass
class Overlay:
    """The project's files as they will be, over what is on disk: made files by path; those of them that only
    refer to what moved; the files that plans take apart, and where the rest of each went. Files that are
    ``absent`` count as not there until they are made; ``planned`` are all that will be.
    """

    absent: frozenset[Path] = frozenset()
    planned: frozenset[Path] = frozenset()
    made: dict[Path, bytes] = field(default_factory=dict)
    followers: set[Path] = field(default_factory=set)
    sources: set[Path] = field(default_factory=set)
    rests: dict[Path, Path] = field(default_factory=dict)
    disk: Disk = field(default_factory=Disk)

    def exists(self, path: Path) -> bool:
        """Tell whether there will be such a file."""
        return path in self.made or (path not in self.absent and path.exists())

    def counts(self, path: Path) -> bool:
        """Tell whether a file of the tree is one of those that plans see."""
        return path not in self.absent or path in self.made

    def source(self, path: Path, shown: str) -> Source:
        """A file as a source.

        Raises:
            SourceError: if it can't be used.
        """
        if path in self.made:
            return decode_source(self.made[path], shown)
        if path in self.absent:
            raise SourceError(f"{shown}: is not there before the plan that makes it")
        return read_source(path, shown)

    def data(self, path: Path) -> bytes:
        """Give a file's bytes."""
        found = self.made[path] if path in self.made else self.disk.found(path)
        return path.read_bytes() if found is None else found

    def files(self, folder: Path) -> Iterator[tuple[Path, bytes]]:
        """Give the files below a folder that plans see, with their bytes."""
        return ((path, self.data(path)) for path in self.disk.files(folder) if self.counts(path))

    def found(self, path: Path) -> bytes | None:
        """A file's bytes; None where there will be no such file."""
        if path in self.made:
            return self.made[path]
        return None if path in self.absent else self.disk.found(path)

    def put(self, path: Path, source: Source | None, text: str) -> None:
        """Make or replace a file, in a source's encoding; in UTF-8 without one, when it is made afresh."""
        self.made[path] = text.encode("utf-8") if source is None else source.encode(text)
        if source is None:
            self.followers.discard(path)


@dataclass(frozen=True, slots=True)
class Site:
    """One file, and the project around it."""

    layout: Layout
    overlay: Overlay
    surroundings: Surroundings

    @property
    def home(self) -> str:
        """Name the module of the file that is left."""
        return dotted_name(self.layout.rest, self.layout.base)

    @property
    def find(self) -> Find:
        """Finds modules of the project as it will be."""
        return found_below(self.layout.folders, self.overlay.found)

    def is_taken(self, path: Path) -> bool:
        """Tell whether there is a file in a target's place; not one that plans make afresh each time."""
        overlay, frozen = self.overlay, self.layout.frozen
        if path in overlay.made and not (frozen and path in overlay.followers):
            return True
        return not frozen and overlay.exists(path)

    def imports(self, source: Source, made: Sequence[str]) -> ImportSection:
        """No imports yet, of what is left of a source, which imports from modules that are ``made``."""
        manner = self.layout.manner(source, self.layout.rest)
        return ImportSection(self.layout.folders, manner=manner, made=made, planned=self.planned)

    @property
    def planned(self) -> list[str]:
        """The modules that plans make, as they are imported."""
        return list(filter(None, map(self.layout.dotted, sorted(self.overlay.planned))))


def site_of(source: Source, layout: Layout, overlay: Overlay) -> Site:
    """Where a source is taken apart."""
    folder = layout.root if (layout.root in layout.rest.parents) else layout.base
    # What a plan makes afresh each time is not there yet.
    old = overlay.planned - overlay.made.keys() if layout.frozen else frozenset[Path]()

    def files() -> Iterator[tuple[Path, bytes]]:
        return ((path, data) for path, data in overlay.files(folder) if path not in old)

    return Site(layout, overlay, Surroundings(source, layout.rest, folder, files))
