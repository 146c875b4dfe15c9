"""A run on simulated devices, told in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from golden.simulated.result import Change, Result, Sync

NOT_SIMULATED = (
    "not simulated: the bits and the speed of GPU kernels, fragmentation of the allocator, CUDA graphs, "
    "Triton, compiled regions (they run eagerly), NCCL (collectives go to gloo), what cuBLAS and cuDNN "
    "leave undetermined"
)
_LINES = 5
_MIB = 1 << 20


def render(result: Result, *, most: int | None) -> str:
    """The table of syncs, the dearest first; races; peak memory; and what a simulation can't show."""
    places = len({sync.place for sync in result.syncs})
    where = f"at {_many(places, 'line')} in {_many(result.steps, 'optimizer step')}"
    lines = [f"{_many(result.total, 'sync')} {where}", ""]
    shown = result.syncs[:most]
    rows = [("times", "how often", "kind", "line", "function")]
    rows += [
        (str(sync.count), often(sync, result.steps), sync.kind, sync.place, _function(sync)) for sync in shown
    ]
    lines += _columns(rows) if shown else []
    left = result.syncs[len(shown) :]
    if left:
        times = sum(sync.count for sync in left)
        lines.append(f"and {_many(len(left), 'row')} more, {_many(times, 'sync')} (--all shows them)")
    lines += ["", *_races(result), "", *_peaks(result), "", NOT_SIMULATED]
    return "\n".join(line for line, before in zip(lines, ["x", *lines], strict=False) if line or before)


def render_changes(base: Result, head: Result, changes: Sequence[Change], *, names: tuple[str, str]) -> str:
    """What a change did to syncs, races and peak memory."""
    lines = [
        f"{names[0]}: {_many(base.total, 'sync')} in {_many(base.steps, 'optimizer step')}",
        f"{names[1]}: {_many(head.total, 'sync')} in {_many(head.steps, 'optimizer step')}",
        "",
    ]
    rows = []
    for change in changes:
        now = change.head or change.base
        assert now is not None
        old = change.base.count if change.base else 0
        new = change.head.count if change.head else 0
        word = "new" if not old else "gone" if not new else "more" if new > old else "fewer"
        rows.append(
            (word, f"{old} -> {new}", _difference(old, new, base, head), now.kind, now.place, _function(now))
        )
    lines += (
        _columns([("", "times", "difference", "kind", "line", "function"), *rows])
        if rows
        else ["the same syncs"]
    )
    lines += ["", f"races: {_total(base)} -> {_total(head)}"]
    lines += [f"  {line}" for line in _race_lines(head)]
    for peak in head.peaks:
        before = next((other.peak for other in base.peaks if other.device == peak.device), 0)
        lines.append(f"peak memory of {peak.device}: {_mib(before)} -> {_mib(peak.peak)}")
    return "\n".join([*lines, "", NOT_SIMULATED])


def often(sync: Sync, steps: int) -> str:
    """How often a line waits, per optimizer step."""
    if not steps or sync.windows <= 1:
        return "once"
    rate = sync.count / steps
    return f"{rate:.3g} a step" if rate >= 0.95 else f"every {steps / sync.count:.2g} steps"


def _difference(old: int, new: int, base: Result, head: Result) -> str:
    rate = new / max(head.steps, 1) - old / max(base.steps, 1)
    return f"{rate:+.3g} a step"


def _function(sync: Sync) -> str:
    behind = f" (in {sync.call})" if sync.call else ""
    return f"{sync.function}{behind}"


def _races(result: Result) -> list[str]:
    if not result.races:
        return ["no race between streams"]
    return [
        f"{_many(_total(result), 'race')} between streams",
        *(f"  {line}" for line in _race_lines(result)),
    ]


def _race_lines(result: Result) -> Iterator[str]:
    for race in result.races[: 2 * _LINES]:
        yield f"{race.place}: {race.what} ({race.other}), {_many(race.count, 'time')}"
    if len(result.races) > 2 * _LINES:
        yield f"and {len(result.races) - 2 * _LINES} more pairs of lines"


def _total(result: Result) -> int:
    return sum(race.count for race in result.races)


def _peaks(result: Result) -> list[str]:
    found = []
    for peak in result.peaks:
        found.append(
            f"peak memory of {peak.device}: {_mib(peak.peak)}, after {_many(peak.step, 'step')}, made by"
        )
        found += [f"  {_mib(size):>10}  {place}" for place, size in peak.held[:_LINES]]
    return found


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numbers = {0} if rows[0][0] else set()
    return [
        "  ".join(
            cell.rjust(width) if i in numbers else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
