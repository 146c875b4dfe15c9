"""Fenced regions: the order in which a loop waits for the device and brings values to the host, and what a
change does to it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from codemods.device.syncs import SyncCall, find_syncs
from codemods.program.source import Source

StepKind = Literal["fence", "batch", "read"]


@dataclass(frozen=True, slots=True)
class Step:
    """One wait in a region.

    Attributes:
        kind: ``fence`` (all that was queued is done), ``batch`` (many values in one transfer) or ``read``.
        text: the call, shortened.
        line: of the call.
        inner: headers of the loops around it inside the region's own, outermost first.
    """

    kind: StepKind
    text: str
    line: int
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Waits of the outermost loops of one header in a function, or of its code outside of loops.

    Attributes:
        function: qualified name of the function.
        loop: header of the loop, or None for what stands outside of loops.
        steps: the waits, in the order of the text.
    """

    function: str
    loop: str | None
    steps: tuple[Step, ...]

    @property
    def order(self) -> tuple[object, ...]:
        """List what must stay: the loop, and kind, text and inner loops of every wait."""
        return (self.loop, *((step.kind, step.text, step.inner) for step in self.steps))


@dataclass(frozen=True, slots=True)
class RegionChange:
    """A region that was (None: a new one) and what it is now (None: gone)."""

    before: Region | None
    after: Region | None


def find_regions(syncs: Iterable[SyncCall]) -> tuple[Region, ...]:
    """The regions of what `find_syncs` found; a function without waits has none."""

    def place(call: SyncCall) -> tuple[str, str]:
        return call.function, call.loops[0] if call.loops else ""

    calls = sorted(syncs, key=place)
    found = [
        Region(function, loop or None, tuple(map(_step, inside)))
        for (function, loop), inside in groupby(calls, key=place)
    ]
    return tuple(sorted(found, key=lambda region: region.steps[0].line))


def regions_of(source: Source) -> tuple[Region, ...]:
    """The regions of all functions and methods of a file."""
    found: list[SyncCall] = []
    waiting: list[tuple[str, Sequence[ast.stmt]]] = [("", source.tree.body)]
    while waiting:
        around, body = waiting.pop()
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found += find_syncs(node, around + node.name)
            elif isinstance(node, ast.ClassDef):
                waiting.append((f"{around}{node.name}.", node.body))
    return find_regions(found)


def compare_regions(before: Iterable[Region], after: Iterable[Region]) -> tuple[RegionChange, ...]:
    """Regions of one version that another has not, wherever it has them.

    A region that only moved, to another function or file, is none. One that changed stands beside the one
    that took its place: of the same function and loop, or else of the same loop.
    """
    old, new = list(before), list(after)
    gone = _without(old, Counter(region.order for region in new))
    come = _without(new, Counter(region.order for region in old))
    changes = []
    for region in gone:
        alike = [other for other in come if other.loop == region.loop and _last(other) == _last(region)]
        alike = alike or [other for other in come if region.loop is not None and other.loop == region.loop]
        if alike:
            come.remove(alike[0])
        changes.append(RegionChange(region, alike[0] if alike else None))
    return (*changes, *(RegionChange(None, region) for region in come))


def _step(call: SyncCall) -> Step:
    kind: StepKind = "fence" if call.is_fence else "batch" if call.batched else "read"
    return Step(kind, call.text, call.line, call.loops[1:])


def _without(regions: Sequence[Region], known: Counter[tuple[object, ...]]) -> list[Region]:
    """Regions left when each of the known orders has been taken once for every time it is there."""
    spare = known.copy()
    found = []
    for region in regions:
        if spare[region.order] > 0:
            spare[region.order] -= 1
        else:
            found.append(region)
    return found


def _last(region: Region) -> str:
    return region.function.rpartition(".")[2]
