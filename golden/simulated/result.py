"""A run on simulated devices as it was written down, and two of them compared."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = 1


@dataclass(frozen=True, slots=True)
class Sync:
    """The syncs of one kind at one line.

    Attributes:
        file: the file of the program, as it is found from the folder of the run.
        line: in it.
        function: qualified name of the function.
        kind: what made the host wait.
        call: the function of torch that the line called, if the sync is inside of one.
        text: the line.
        count: how often, in all processes.
        windows: between how many pairs of optimizer steps.
    """

    file: str
    line: int
    function: str
    kind: str
    call: str
    text: str
    count: int
    windows: int

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.file else "(not in the program)"


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses of which one did not wait for the other."""

    what: str
    place: str
    other: str
    count: int


@dataclass(frozen=True, slots=True)
class Peak:
    """The peak of live storages of one device: in bytes, after how many steps, held by which lines."""

    device: str
    peak: int
    step: int
    held: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run on simulated devices showed."""

    steps: int
    syncs: tuple[Sync, ...]
    races: tuple[Race, ...]
    peaks: tuple[Peak, ...]

    @property
    def total(self) -> int:
        """How many syncs there were."""
        return sum(sync.count for sync in self.syncs)


@dataclass(frozen=True, slots=True)
class Change:
    """A line that waits otherwise than it did: None on the side that does not wait there at all."""

    base: Sync | None
    head: Sync | None


def read_result(folder: Path) -> Result | None:
    """What the processes of a run wrote to a folder; None if none has loaded torch."""
    files = sorted(folder.glob("simulated-*.json"))
    found = [json.loads(path.read_text()) for path in files]
    if not found:
        return None
    counts: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    races: Counter[tuple[str, str, str]] = Counter()
    peaks: dict[str, Peak] = {}
    for process in found:
        for row in process["syncs"]:
            key = tuple(row[name] for name in ("file", "line", "function", "kind", "call", "text"))
            counts[key][0] += row["count"]
            counts[key][1] = max(counts[key][1], row["windows"])
        for row in process["races"]:
            races[row["what"], row["place"], row["other"]] += row["count"]
        for device, told in process["memory"].items():
            held = tuple((row["place"], row["bytes"]) for row in told["held"])
            peak = Peak(device, told["peak_bytes"], told["step"], held)
            if device not in peaks or peaks[device].peak < peak.peak:
                peaks[device] = peak
    syncs = [Sync(*key, *numbers) for key, numbers in counts.items()]
    return Result(
        steps=max(process["steps"] for process in found),
        syncs=tuple(
            sorted(syncs, key=lambda sync: (-sync.count, sync.file, sync.line, sync.kind, sync.call))
        ),
        races=tuple(Race(*key, count) for key, count in races.most_common()),
        peaks=tuple(peaks[device] for device in sorted(peaks)),
    )


_SAME: tuple[Callable[[Sync], Hashable], ...] = (
    lambda s: (s.file, s.line, s.function, s.kind, s.call, s.text),
    lambda s: (s.file, s.function, s.kind, s.call, s.text),
    lambda s: (s.function.rpartition(".")[2], s.kind, s.call, s.text),
    lambda s: (s.kind, s.call, s.text),
    lambda s: (s.file, s.function, s.kind, s.call),
    lambda s: (s.function.rpartition(".")[2], s.kind, s.call),
)


def compare(base: Result, head: Result) -> tuple[Change, ...]:
    """Where the numbers of syncs differ. A line that only moved, to another function or file, is the same."""
    left, right = list(base.syncs), list(head.syncs)
    pairs: list[tuple[Sync, Sync]] = []
    for key in _SAME:
        waiting: dict[Hashable, list[Sync]] = defaultdict(list)
        for sync in left:
            waiting[key(sync)].append(sync)
        for sync in list(right):
            alike = waiting[key(sync)]
            if alike:
                other = next((one for one in alike if one.count == sync.count), alike[0])
                alike.remove(other)
                left.remove(other)
                right.remove(sync)
                pairs.append((other, sync))
    changed = [Change(a, b) for a, b in pairs if _rate(a, base.steps) != _rate(b, head.steps)]
    return (*(Change(None, b) for b in right), *changed, *(Change(a, None) for a in left))


def differ(base: Result, head: Result, changes: Sequence[Change]) -> bool:
    """Whether a change made syncs, races or peak memory (by more than 1 %) other."""
    before = {peak.device: peak.peak for peak in base.peaks}
    peaks = any(abs(peak.peak - before.get(peak.device, 0)) > peak.peak // 100 for peak in head.peaks)
    races = sum(race.count for race in base.races) != sum(race.count for race in head.races)
    return bool(changes) or races or peaks


def _rate(sync: Sync, steps: int) -> float:
    return sync.count / max(steps, 1)


def as_table(result: Result) -> dict[str, Any]:
    """A result for other tools."""
    names = ("file", "line", "function", "kind", "call", "text", "count", "windows")
    return {
        "version": VERSION,
        "steps": result.steps,
        "syncs": [{name: getattr(sync, name) for name in names} for sync in result.syncs],
        "races": [
            {"what": race.what, "place": race.place, "other": race.other, "count": race.count}
            for race in result.races
        ],
        "peaks": [
            {
                "device": peak.device,
                "bytes": peak.peak,
                "step": peak.step,
                "held": [{"place": place, "bytes": size} for place, size in peak.held],
            }
            for peak in result.peaks
        ],
    }
