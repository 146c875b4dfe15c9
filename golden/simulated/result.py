"""A run on simulated devices as it was written down, and two of them compared."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
        windows: in how many steps.
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
    """What a run on simulated devices showed; ``ran`` has the functions that computed there."""

    steps: int
    syncs: tuple[Sync, ...]
    races: tuple[Race, ...]
    peaks: tuple[Peak, ...]
    ran: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> int:
        """How many syncs there were."""
        return sum(sync.count for sync in self.syncs)

    @property
    def raced(self) -> int:
        """How many races there were."""
        return sum(race.count for race in self.races)


@dataclass(frozen=True, slots=True)
class Change:
    """A line that waits otherwise than it did: None on the side that does not wait there at all.

    Attributes:
        a_step: how much more often in a step.
    """

    base: Sync | None
    head: Sync | None
    a_step: float

    @property
    def sync(self) -> Sync:
        """The line as it is now, or as it was."""
        found = self.head or self.base
        assert found is not None
        return found

    @property
    def counts(self) -> tuple[int, int]:
        """How often, before and after."""
        return (self.base.count if self.base else 0, self.head.count if self.head else 0)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs, and the lines that wait otherwise in the second one."""

    base: Result
    head: Result
    changes: tuple[Change, ...]

    @property
    def differ(self) -> bool:
        """Whether syncs, races or peak memory are other."""
        peaks = grown(self.base, self.head) or grown(self.head, self.base)
        return bool(self.changes or peaks) or self.base.raced != self.head.raced


def grown(before: Result, after: Result) -> list[Peak]:
    """The devices that need more memory, by more than 1 %."""
    known = Counter({peak.device: peak.peak for peak in before.peaks})
    return [peak for peak in after.peaks if peak.peak - known[peak.device] > peak.peak // 100]


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
        ran=tuple(sorted({(file, function) for process in found for file, function in process["ran"]})),
    )


_SAME: tuple[Callable[[Sync], Hashable], ...] = (
    lambda s: (s.file, s.line, s.function, s.kind, s.call, s.text),
    lambda s: (s.file, s.function, s.kind, s.call, s.text),
    lambda s: (s.function.rpartition(".")[2], s.kind, s.call, s.text),
    lambda s: (s.kind, s.call, s.text),
    lambda s: (s.file, s.function, s.kind, s.call),
    lambda s: (s.function.rpartition(".")[2], s.kind, s.call),
)


def compare(base: Result, head: Result) -> Compared:
    """Where the numbers of syncs differ. A line that only moved, to another function or file, is the same."""
    left, right = list(base.syncs), list(head.syncs)
    pairs: list[tuple[Sync | None, Sync | None]] = []
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
    pairs += [(None, sync) for sync in right] + [(sync, None) for sync in left]
    changes = tuple(Change(a, b, _rate(b, head) - _rate(a, base)) for a, b in pairs)
    return Compared(base, head, tuple(change for change in changes if change.a_step))


def _rate(sync: Sync | None, of: Result) -> float:
    return sync.count / max(of.steps, 1) if sync else 0.0
