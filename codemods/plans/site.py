"""A file to be taken apart: its place, the project as it will be, what is asked for helpers, the outcome."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codemods.plans.report import FileChange
from codemods.program.imports import Manner, manner_of
from codemods.program.lifting import Analysis, Helper
from codemods.program.modules import Find, Module, Project, found_below
from codemods.program.repository import (
    dotted_name,
    folder_package,
    import_base,
    python_files,
)
from codemods.program.source import Source, SourceError, read_source, shared_source
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Accepted, Refusal
from codemods.values.annotations import Annotations
from codemods.values.classes import Stated

if TYPE_CHECKING:
    from codemods.program.loading import Loading
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
    base: Path = field(init=False)
    """The folder from which the rest's dotted name starts: above its outermost package."""
    source_package: str | None = field(init=False)
    """The package of the source as it was, for its relative imports."""

    def __post_init__(self) -> None:
        # Found once: both look at every folder above.
        object.__setattr__(self, "base", import_base(self.rest))
        object.__setattr__(self, "source_package", folder_package(self.source) or None)

    def dotted(self, path: Path) -> str | None:
        """Name the module of a file; None for one that is not below the base."""
        return dotted_name(path, self.base) if self.base in path.parents else None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where modules of the project are looked for."""
        return (self.base, self.root, self.root / "src")

    def shown(self, path: Path) -> str:
        """A path as reports print it: relative to the root where it lies below it."""
        return (path.relative_to(self.root) if path.is_relative_to(self.root) else path).as_posix()


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
    rests: dict[Path, Path] = field(default_factory=dict)
    # Each file is listed and read once.
    disk: dict[Path, bytes | None] = field(default_factory=dict)
    listed: dict[Path, list[Path]] = field(default_factory=dict)

    def exists(self, path: Path) -> bool:
        """Tell whether there will be such a file."""
        return path in self.made or (path not in self.absent and path.exists())

    def source(self, path: Path, shown: str) -> Source:
        """Read a file.

        Raises:
            SourceError: if it can't be used.
        """
        if path in self.made:
            return shared_source(self.made[path], shown)
        if path in self.absent:
            raise SourceError(f"{shown}: is not there before the plan that makes it")
        return read_source(path, shown)

    def files(self, folder: Path) -> Iterator[tuple[Path, bytes]]:
        """Give the Python files below a folder that are on disk and will be there, with their bytes."""
        if folder not in self.listed:
            self.listed[folder] = list(python_files(folder))
        for path in self.listed[folder]:
            if (data := self.found(path)) is not None:
                yield path, data

    def found(self, path: Path) -> bytes | None:
        """A file's bytes; None where there will be no such file."""
        if path in self.made:
            return self.made[path]
        return None if path in self.absent else self.on_disk(path)

    def on_disk(self, path: Path) -> bytes | None:
        """The bytes of a file as it is; None where there is none."""
        if path not in self.disk:
            self.disk[path] = path.read_bytes() if path.is_file() else None
        return self.disk[path]

    def put(self, path: Path, source: Source | None, text: str) -> None:
        """Make or replace a file, in a source's encoding; in UTF-8 without one, when it is made afresh."""
        self.made[path] = text.encode("utf-8") if source is None else source.encode(text)
        if source is None:
            self.followers.discard(path)

    def changes(self, layout: Layout) -> tuple[FileChange, ...]:
        """List all files made so far."""
        was = {path: None if path in self.absent else self.on_disk(path) for path in self.made}
        return tuple(FileChange(p, layout.shown(p), was[p], data) for p, data in self.made.items())


@dataclass(frozen=True, slots=True)
class Site:
    """One file, and the project around it."""

    layout: Layout
    overlay: Overlay
    surroundings: Surroundings

    @property
    def home(self) -> str:
        """The module of the file that is left."""
        return dotted_name(self.layout.rest, self.layout.base)

    @property
    def find(self) -> Find:
        """Finds modules of the project as it will be."""
        return found_below(self.layout.folders, self.overlay.found)

    @property
    def loading(self) -> Loading:
        """Rehearses the loading of modules of the project; each is read once, when it is first asked for."""
        from codemods.program.loading import Loading

        return self.surroundings.once("loading", lambda: Loading(self.find))

    def is_taken(self, path: Path) -> bool:
        """Tell whether there is a file in a target's place; not one that plans make afresh each time."""
        overlay = self.overlay
        made = path in overlay.made and path not in overlay.followers
        return made or (not self.layout.frozen and overlay.exists(path))

    def imports(self, source: Source, future: tuple[str, ...] = ()) -> ImportSection:
        """No imports yet, of a file that is made of a source."""
        from codemods.rewrites.text.imports import ImportSection

        layout, manner = self.layout, Manner()
        # Code that goes to another place has lost the source's own way.
        if layout.source_package is not None and layout.rest == layout.source:
            manner = manner_of(source.tree, layout.source_package)
        return ImportSection(future, manner=manner)


def site_of(source: Source, layout: Layout, overlay: Overlay) -> Site:
    """Find where a source is taken apart."""
    folder = layout.root if (layout.root in layout.rest.parents) else layout.base
    # What a plan makes afresh each time is not there yet.
    old = overlay.planned - overlay.made.keys() if layout.frozen else frozenset[Path]()

    def files() -> Iterator[tuple[Path, bytes]]:
        return ((path, data) for path, data in overlay.files(folder) if path not in old)

    return Site(layout, overlay, Surroundings(source, layout.rest, folder, files))


def line_before(source: Source, left: Source) -> Callable[[int], int]:
    """The line of ``source`` for each line of what is left of it."""

    @cache
    def blocks() -> list[tuple[int, int, int, int]]:
        pairs = difflib.SequenceMatcher(None, source.lines, left.lines)
        return [(a, b, c, d) for _, a, b, c, d in pairs.get_opcodes()]

    def line(number: int) -> int:
        if left.text == source.text:
            return number
        for start, end, first, last in blocks():
            if first <= number - 1 < last:
                return min(start + (number - 1 - first), max(start, end - 1)) + 1
        return number

    return line


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
