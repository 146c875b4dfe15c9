"""A run on simulated devices as it was written down, and two of them compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sync(_Row):
    """The syncs of one kind at one line.

    Attributes:
        file: the file of the program, as it is found from the folder of the run.
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


class Race(_Row):
    """Two accesses of which one did not wait for the other."""

    what: str
    place: str
    other: str
    count: int


class Held(_Row):
    """The bytes that one line made of what was live at the peak."""

    place: str
    bytes: int


class Peak(_Row):
    """The peak of live storages of one device: in bytes, after how many steps, held by which lines."""

    device: str
    bytes: int
    step: int
    held: tuple[Held, ...]


class Function(_Row):
    """A function of the program that computed on a device."""

    file: str
    function: str


class Result(_Row):
    """The syncs, races and peaks of a run, and the functions that computed on a device."""

    version: int = 1
    steps: int
    syncs: tuple[Sync, ...]
    races: tuple[Race, ...] = ()
    peaks: tuple[Peak, ...] = ()
    ran: tuple[Function, ...] = ()

    @property
    def total(self) -> int:
        """The number of syncs."""
        return sum(sync.count for sync in self.syncs)

    @property
    def raced(self) -> int:
        """The number of races."""
        return sum(race.count for race in self.races)


@dataclass(frozen=True, slots=True)
class Change:
    """A line that waits otherwise than it did: how often before and after, and how much more in a step."""

    sync: Sync
    old: int
    new: int
    a_step: float


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs, and the lines that wait otherwise in the second one."""

    base: Result
    head: Result
    changes: tuple[Change, ...]

    @property
    def differ(self) -> bool:
        """Tell whether syncs, races or peak memory are other."""
        peaks = grown(self.base, self.head) or grown(self.head, self.base)
        return bool(self.changes or peaks) or self.base.raced != self.head.raced


def grown(before: Result, after: Result) -> list[Peak]:
    """The devices that need more memory, by more than 1 %."""
    known = Counter({peak.device: peak.bytes for peak in before.peaks})
    return [peak for peak in after.peaks if peak.bytes - known[peak.device] > peak.bytes // 100]


def read_result(folder: Path) -> Result | None:
    """Read what the processes of a run wrote to a folder; None if none had a tensor on a device."""
    files = sorted(folder.glob("simulated-*.json"))
    found = [Result.model_validate_json(path.read_bytes()) for path in files]
    if not any(peak.bytes for process in found for peak in process.peaks):
        return None
    races: Counter[tuple[str, str, str]] = Counter()
    for race in (race for process in found for race in process.races):
        races[race.what, race.place, race.other] += race.count
    highest: dict[str, Peak] = {}
    for peak in (peak for process in found for peak in process.peaks):
        highest[peak.device] = max(highest.get(peak.device, peak), peak, key=lambda one: one.bytes)
    return Result(
        steps=max(process.steps for process in found),
        syncs=_together(sync for process in found for sync in process.syncs),
        races=tuple(
            Race(what=what, place=place, other=other, count=count)
            for (what, place, other), count in races.most_common()
        ),
        peaks=tuple(highest[device] for device in sorted(highest)),
        ran=tuple(
            sorted({one for process in found for one in process.ran}, key=lambda f: (f.file, f.function))
        ),
    )


def _together(syncs: Iterable[Sync]) -> tuple[Sync, ...]:
    """One row for each line, kind and call, the most frequent first."""
    found: dict[Hashable, Sync] = {}
    for sync in syncs:
        known = found.get(key := _SAME[0](sync))
        if known is not None:
            numbers = {"count": known.count + sync.count, "windows": max(known.windows, sync.windows)}
            sync = sync.model_copy(update=numbers)
        found[key] = sync
    return tuple(sorted(found.values(), key=lambda s: (-s.count, s.file, s.line, s.kind, s.call)))


_SAME: tuple[Callable[[Sync], Hashable], ...] = (
    lambda s: (s.file, s.line, s.function, s.kind, s.call, s.text),
    lambda s: (s.file, s.function, s.kind, s.call, s.text),
    lambda s: (s.function.rpartition(".")[2], s.kind, s.call, s.text),
    lambda s: (s.kind, s.call, s.text),
    lambda s: (s.file, s.function, s.kind, s.call),
    lambda s: (s.function.rpartition(".")[2], s.kind, s.call),
)


def compare(base: Result, head: Result) -> Compared:
    """Find where the numbers of syncs differ; a line that only moved, to a file or function, is the same."""
    left, right = list(base.syncs), list(head.syncs)
    changes = []

    def note(old: Sync | None, new: Sync | None) -> None:
        before, after = old.count if old else 0, new.count if new else 0
        a_step = after / max(head.steps, 1) - before / max(base.steps, 1)
        sync = new or old
        if a_step and sync is not None:
            changes.append(Change(sync, before, after, a_step))

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
                note(other, sync)
    for sync in right:
        note(None, sync)
    for sync in left:
        note(sync, None)
    return Compared(base, head, tuple(changes))
