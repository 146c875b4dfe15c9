"""All that decides what the gate lets pass, at the base and here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.changes import readings, suite
from ci.changes.compare import Item, Weakening, compare
from ci.changes.place import Side
from ci.changes.readings import PROJECT
from ci.changes.shadows import shadows
from ci.changes.unread import unread
from ci.config import ConfigError, GateConfig, has_gate, load_config
from codemods.api import SourceError
from golden.trace.errors import GoldenError

_UNREADABLE = (SourceError, ConfigError, GoldenError, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of place.

    Attributes:
        name: the beginning of its items' names, and the name of one that can't be read.
        read: all that a tree says there.
        wanted: a configuration asks for a check that reads it.
    """

    name: str
    read: Callable[[Side], Iterable[Item]]
    wanted: Callable[[GateConfig], object] = lambda _: True


SOURCES = (
    Source("tool.gate", readings.gate),
    Source("run", readings.runs, readings.run_names),
    Source("golden", readings.goldens, readings.run_names),
    Source("tool.codemods.hotpath", readings.hotpath, lambda c: c.hotpath),
    Source("hotpath.baseline", readings.baseline, lambda c: c.hotpath),
    Source("hotpath", readings.comments, lambda c: c.hotpath),
    Source("importlinter", readings.contracts, lambda c: c.contracts),
    Source("evidence.accepted", readings.accepted, lambda c: c.evidence),
    Source("plans", readings.plans, lambda c: (*c.plans, *c.carried_out)),
    Source("seams", readings.seams, lambda c: c.seams),
    Source("tests.settings", suite.pytest_settings, lambda c: c.tests),
    Source("tests.plugins", suite.plugins, lambda c: c.tests),
    Source("tests.command", suite.runners, lambda c: c.tests),
    Source("tests.cases", suite.cases, lambda c: c.tests),
    Source("tests.skips", suite.skips, lambda c: c.tests),
    Source("workflow", readings.workflows),
    Source("shadows", shadows),
)


def weakened(base: Path, head: Path) -> list[Weakening] | None:
    """Return what the tree ``head`` no longer demands of what ``base`` did.

    None if the base demands nothing: it has no ``[tool.gate]``. What of the base can't be read is
    named as well, since nobody knows what it demanded.
    """
    try:
        if not has_gate(base):
            above = _above(base)
            return [Weakening("tool.gate", f"was that of {above}", PROJECT)] if above else None
        config = load_config(base)
    except (SourceError, ConfigError) as error:
        return [Weakening("tool.gate", f"the base's can't be read: {_said(error, base)}", PROJECT)]
    before, after = Side(base, config), Side(head, config)
    found = [each for source in SOURCES if source.wanted(config) for each in _source(source, before, after)]
    return [*found, *unread(before, after)]


def _above(base: Path) -> str:
    """Return a folder above whose gate one of this folder would take the place of, in the same repository."""
    folder = base
    while not (folder / ".git").exists() and folder != folder.parent:
        folder = folder.parent
        if has_gate(folder):
            return "the repository's own folder" if (folder / ".git").exists() else folder.name
    return ""


def _source(source: Source, before: Side, after: Side) -> Iterator[Weakening]:
    """Compare all that two trees say in places of one kind."""
    sides: list[list[Item]] = []
    for side, whose in ((before, "the base's "), (after, "")):
        try:
            sides.append(list(source.read(side)))
        except _UNREADABLE as error:
            yield Weakening(source.name, f"{whose}can't be read: {_said(error, side.root)}", PROJECT)
            return
    yield from compare(*sides)


def _said(error: Exception, root: Path) -> str:
    """Return what an error says, in a line, of files as the tree names them."""
    return " ".join(str(error).split()).replace(f"{root}/", "")
