"""A run on simulated devices, told in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from esper_harness.report.plain import columns, many
from golden.simulated.result import Change, Compared, Race, Result, Sync, grown

NOT_SIMULATED = (
    "not simulated: the bits and the speed of GPU kernels, fragmentation of the allocator, CUDA graphs, "
    "Triton, compiled regions (they run eagerly), NCCL (collectives go to gloo), what cuBLAS and cuDNN "
    "leave undetermined"
)
_LINES = 5
_MOST = 30
# Steps of an agent come between those of the nets that it trains, and a line is one of either.
_OFTEN = 1.5
_MIB = 1 << 20


def render(result: Result) -> str:
    """The table of syncs, the dearest first; races; peak memory; and what a simulation can't show."""
    places = len({sync.place for sync in result.syncs})
    seen = f" in {many(result.steps, 'step')}" if result.steps else "; no optimizer step was seen"
    lines = [f"{many(result.total, 'sync')} at {many(places, 'line')}{seen}", ""]
    shown = result.syncs[:_MOST]
    wide = max([len("times"), *(len(str(sync.count)) for sync in shown)])
    rows = [("times".rjust(wide), "how often" if result.steps else "", "kind", "line", "function")]
    for sync in shown:
        times = str(sync.count).rjust(wide)
        rows.append((times, often(sync, result.steps), sync.kind, sync.place, _function(sync)))
    lines += columns(rows) if shown else []
    left = result.syncs[len(shown) :]
    if left:
        total = sum(sync.count for sync in left)
        lines.append(f"and {many(len(left), 'row')} more, {many(total, 'sync')} (-o FILE has them)")
    races = many(result.raced, "race") if result.races else "no race"
    lines += ["", f"{races} between streams", *_race_lines(result), "", *_peaks(result), "", NOT_SIMULATED]
    return "\n".join(line for line, before in zip(lines, ["x", *lines], strict=False) if line or before)


def render_changes(found: Compared, *, names: tuple[str, str]) -> str:
    """Tell what a change did to syncs, races and peak memory."""
    base, head = found.base, found.head
    sides = zip(names, (base, head), strict=True)
    lines = [f"{name}: {many(side.total, 'sync')} in {many(side.steps, 'step')}" for name, side in sides]
    rows = [("", "times", "difference", "kind", "line", "function")]
    for change in found.changes:
        old, new, now = change.old, change.new, change.sync
        word = "new" if not old else "gone" if not new else "more" if new > old else "fewer"
        rows.append((word, f"{old} -> {new}", _difference(change, head), now.kind, now.place, _function(now)))
    lines += ["", *(columns(rows) if found.changes else ["the same syncs"])]
    lines += ["", f"races: {base.raced} -> {head.raced}", *_race_lines(head)]
    for peak in head.peaks:
        before = next((other.bytes for other in base.peaks if other.device == peak.device), 0)
        lines.append(f"peak memory of {peak.device}: {_mib(before)} -> {_mib(peak.bytes)}")
    return "\n".join([*lines, "", NOT_SIMULATED])


def worse(found: Compared) -> list[tuple[str, str]]:
    """Each line that waits more often, race and growth of memory: the place, and what it is."""
    base, head = found.base, found.head
    lines = [
        (change.sync.place, f"{change.sync.kind}, {_difference(change, head)}")
        for change in found.changes
        if change.a_step > 0
    ]
    known = {(race.what, race.place, race.other) for race in base.races}
    races = [race for race in head.races if (race.what, race.place, race.other) not in known]
    lines += [(race.place, _race(race)) for race in races if head.raced > base.raced]
    lines += [
        (peak.held[0].place, f"peak memory of {peak.device} is {_mib(peak.bytes)}")
        for peak in grown(base, head)
    ]
    return lines


def often(sync: Sync, steps: int) -> str:
    """Tell how often a line waits in the steps in which it does, and how many of them there are, if any."""
    if not steps:
        return ""
    windows = min(sync.windows, steps)
    return _rate(sync.count / windows, steps / windows) if windows > 1 else "once"


def _difference(change: Change, head: Result) -> str:
    if not head.steps:
        return f"{change.new - change.old:+}"
    every = head.steps / min(change.sync.windows, head.steps)
    return _rate(change.a_step * every, every, "+")


def _rate(number: float, every: float, sign: str = "") -> str:
    told = f"{round(number, 1):{sign}g}"
    if every < _OFTEN:
        return f"{told} a step"
    return f"{'' if told == '1' else f'{told} '}every {every:.2g} steps"


def _function(sync: Sync) -> str:
    return f"{sync.function} (in {sync.call})" if sync.call else sync.function


def _race_lines(result: Result) -> Iterator[str]:
    for race in result.races[: 2 * _LINES]:
        yield f"  {race.place}: {_race(race)}"
    if len(result.races) > 2 * _LINES:
        yield f"  and {len(result.races) - 2 * _LINES} more pairs of lines"


def _race(race: Race) -> str:
    return f"{race.what} ({race.other}), {many(race.count, 'time')}"


def _peaks(result: Result) -> list[str]:
    found = []
    for peak in result.peaks:
        when = f"after {many(peak.step, 'step')}, made by"
        found.append(f"peak memory of {peak.device}: {_mib(peak.bytes)}, {when}")
        found += [f"  {_mib(held.bytes):>10}  {held.place}" for held in peak.held[:_LINES]]
    return found


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB"


def as_table(result: Result) -> dict[str, Any]:
    """A result for other tools."""
    syncs = [{**sync.model_dump(), "often": often(sync, result.steps)} for sync in result.syncs]
    return {**result.model_dump(), "syncs": syncs}
