"""Compare a run with a golden: the same verdict as for two traces, as far as the golden's rows tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from golden.compare.calls import compare_kept_calls
from golden.compare.compare import different, env_verdicts
from golden.compare.events import before, compare_events
from golden.compare.held import compare_kept
from golden.compare.made import golden_made_otherwise
from golden.compare.outcome import (
    Compared,
    Comparison,
    Divergence,
    EventChange,
    FieldChange,
    Identical,
    KindChange,
    NotComparable,
    ReadCount,
    Rows,
    SiteChange,
    StepCount,
    StepDivergence,
    TensorChange,
    Tolerated,
)
from golden.compare.outputs import compare_output_rows, read_otherwise
from golden.compare.renamed import renamed_summary
from golden.compare.tolerance import Account
from golden.trace.events import Event
from golden.trace.moments import Moment
from golden.trace.numbers import hex_ulps, readable
from golden.trace.streams import Stream
from golden.trace.summary import Common, Summary
from golden.trace.tolerance import Tolerance, find

_LETTERS = {
    "b": "buffers",
    "g": "grads",
    "h": "settings",
    "p": "params",
    "s": "state",
    "r": "rng",
    "l": "layout",
}


_AT_END = "host reads after the last step of "


def compare_summaries(
    golden: Summary,
    now: Summary,
    *,
    compared: Compared,
    lines: Mapping[str, str] | None = None,
    tolerances: Sequence[Tolerance] = (),
    moments: Sequence[Moment | None] = (),
) -> Comparison:
    """The verdict on a run; ``compared`` says what the run holds, for the report.

    ``lines`` gives the places of host reads their titles, with the lines at which they are now;
    ``tolerances`` are of the numbers that both hold beside their rows; ``moments`` say when events of this
    run were written: a golden does not keep that, so its events are taken to be as early.
    """
    if (otherwise := golden_made_otherwise(golden, now)) is not None:
        return otherwise
    now, names = renamed_summary(golden, now)
    compared = replace(compared, uncompared=(*compared.uncompared, *names))
    beyond, tolerated = _tolerated(golden, now, tolerances)
    written: list[Divergence] = []
    changed, uncompared = compare_output_rows(golden.outputs, now.outputs)
    written += changed
    outputs = compared.outputs if golden.outputs is not None else 0
    compared = replace(compared, outputs=outputs, uncompared=(*compared.uncompared, *uncompared))
    written += _values(golden, now)
    of_looks, alone = _living(golden.living, now.living)
    written += of_looks
    living = compared.living if golden.living is not None else 0
    compared = replace(compared, living=living, uncompared=(*compared.uncompared, *alone))
    held, unheld = compare_kept(golden.held, now.held)
    written += held
    compared = replace(compared, uncompared=(*compared.uncompared, *unheld))
    of_calls, uncalled = compare_kept_calls(golden.calls, now.calls)
    written += of_calls
    compared = replace(compared, uncompared=(*compared.uncompared, *uncalled))
    left, right = _by_stream(golden), _by_stream(now)
    if golden.values is None and now.values is not None:
        compared = replace(compared, uncompared=(*compared.uncompared, "values that the host reads"))
    if golden.whole == now.whole and not beyond and not written:
        if not any((compared.steps, compared.events, compared.outputs)):
            return NotComparable("neither an event nor an optimizer step nor output on both sides")
        return Identical(compared, tolerated=tolerated)
    divergences: list[Divergence] = [*written]
    steps_of: dict[Stream, tuple[int, int | None]] = {}
    for stream in dict.fromkeys([*left, *right]):
        a, b = left.get(stream, []), right.get(stream, [])
        first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if _differ(x, y)), None)
        if first is not None:
            divergences.append(_step(stream, first, a[first], b[first]))
        if len(a) != len(b):
            longer = a if len(a) > len(b) else b
            divergences.append(StepCount(stream, len(a), len(b), longer[min(len(a), len(b))][0]))
        steps_of[stream] = (len(a), first)
    events = _dated(golden.events, moments), _dated(now.events, moments)
    changes = [*compare_events(*events), *(c for c in beyond if isinstance(c, EventChange))]
    divergences += [d for d in beyond if isinstance(d, Rows)]
    divergences += _rows(
        "steps", [r for r in golden.steps if _folded(r)], [r for r in now.steps if _folded(r)]
    )
    divergences += _rows("final state", *(_without_reads(rows) for rows in (golden.final, now.final)))
    reads = _reads(golden, now, left, right, lines or {})
    if reads is not None:
        divergences.append(reads)
    if not divergences and not changes:
        divergences.append(Rows("everything", golden.whole, now.whole))
    envs = env_verdicts(*events, steps_of, changes)
    found = different(compared, divergences, changes, envs, tolerated)
    return read_otherwise(golden.reading, now.reading, found) or found


def compare_common(golden: Common, now: Common) -> Comparison:
    """Whether what holds on every machine holds on this one."""
    divergences: list[Divergence] = []
    for part in ("counts", "steps", "shapes"):
        a, b = getattr(golden, part), getattr(now, part)
        divergences += [
            Rows(f"{part} of {name}", str(a.get(name, "none")), str(b.get(name, "none")))
            for name in dict.fromkeys([*a, *b])
            if a.get(name) != b.get(name)
        ]
    left, right = [_common_event(r) for r in golden.events], [_common_event(r) for r in now.events]
    changes = compare_events(left, right)
    amount = Compared(events=sum(now.counts.values()), steps=sum(now.steps.values()))
    if divergences or changes:
        return different(amount, divergences, changes, env_verdicts(left, right, {}, changes))
    return Identical(amount)


def _tolerated(
    golden: Summary, now: Summary, tolerances: Sequence[Tolerance]
) -> tuple[list[EventChange | Rows], tuple[Tolerated, ...]]:
    """What is beyond its tolerance, and what passed by it; nothing where the places don't agree."""
    account = Account()
    beyond: list[EventChange | Rows] = []
    rows = [[row.rpartition(" ") for row in side.tolerated] for side in (golden, now)]
    if [place for place, _, _ in rows[0]] != [place for place, _, _ in rows[1]]:
        return beyond, ()
    events = _events(now.events)
    for (place, _, x), (_, _, y) in zip(*rows, strict=True):
        of, at, name = place.split(" ", 2)
        number = int(at)
        apart = 0 if x == y else hex_ulps(x, y)
        if x == y or account.passes(find(tolerances, of, name), apart):
            continue
        if of == "events" and len(events) > number and not _folded(now.events[0]):
            event = events[number]
            change = (FieldChange(name, readable(x), readable(y), apart),)
            beyond.append(
                EventChange("changed", event.kind, event.env, number, number, change, before(events, number))
            )
        else:
            where = f"field {name} of event {number}" if of == "events" else f"loss of {name}, step {number}"
            far = f" ({apart:,} ulps)" if apart is not None else ""
            beyond.append(Rows(where, readable(x), readable(y) + far))
    return beyond, account.closed(tolerances)


def _values(golden: Summary, now: Summary) -> list[Rows]:
    """The first step before which the host reads other values; nothing where the numbers of steps differ."""
    a, b = golden.values, now.values
    if a is None or b is None or len(a) != len(b):
        return []
    first = next((index for index, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), None)
    if first is None:
        return []
    places = _places(now)
    where = places[first] if len(places) == len(b) else f"in row {first}"
    return [Rows(f"values that the host reads {where}", a[first], b[first])]


def _places(summary: Summary) -> list[str]:
    """When each row of values was read: before each step of a process, and after its last one."""
    steps: dict[str, int] = {}
    for process, _, _ in summary.streams:
        steps.setdefault(process, 0)
    for stream, rows in _by_stream(summary).items():
        steps[stream.process] += len(rows)
    found = []
    for process, count in steps.items():
        of = "" if process == "rank-0" else f" of {process.replace('-', ' ')}"
        found += [f"before step {step} overall{of}" for step in range(count)]
        found.append(f"after the last step{of}")
    return found


def _living(golden: Sequence[str] | None, now: Sequence[str] | None) -> tuple[list[Rows], tuple[str, ...]]:
    """The first look at which modules or own generators differ, and what could not be compared."""
    if golden is None or now is None:
        told = now is not None
        return [], ("modules and own generators (the golden was recorded without them)",) if told else ()
    a, b = (dict(row.rpartition(" | ")[::2] for row in side) for side in (golden, now))
    first = next((key for key in a if key in b and a[key] != b[key]), None)
    alone = () if a.keys() == b.keys() else ("what lived on one side only",)
    if first is None:
        return [], alone
    look, _, what = first.partition(" | ")
    return [Rows(f"{what} at {look}", a[first], b[first])], alone


def _differ(x: tuple[int, str], y: tuple[int, str]) -> bool:
    """Whether two rows differ in a column but the last one, the number of host reads."""
    return x[1].rpartition(" ")[0] != y[1].rpartition(" ")[0]


def _without_reads(rows: Sequence[str]) -> list[str]:
    return [row for row in rows if not row.startswith(_AT_END)]


def _reads(
    golden: Summary,
    now: Summary,
    left: Mapping[Stream, list[tuple[int, str]]],
    right: Mapping[Stream, list[tuple[int, str]]],
    lines: Mapping[str, str],
) -> ReadCount | None:
    places = dict.fromkeys([*golden.reads, *now.reads])
    sites = tuple(
        SiteChange(lines.get(place, place), golden.reads.get(place, 0), now.reads.get(place, 0))
        for place in places
        if golden.reads.get(place, 0) != now.reads.get(place, 0)
    )
    found: list[ReadCount] = []
    total = 0
    for stream in (s for s in left if s in right):
        for index, (x, y) in enumerate(zip(left[stream], right[stream], strict=False)):
            total += 1
            a, b = x[1].rpartition(" ")[2][1:], y[1].rpartition(" ")[2][1:]
            if a != b:
                numbers = _number(a), _number(b)
                found.append(ReadCount(stream.process, stream, index, x[0], *numbers, sites, 0, 0))
    ends = [{row for row in s.final if row.startswith(_AT_END)} for s in (golden, now)]
    if found:
        return replace(min(found, key=lambda f: f.number or 0), steps=len(found), total=total)
    for row in sorted(ends[0] - ends[1]):
        process, _, count = row.removeprefix(_AT_END).partition(" | ")
        other = next((r for r in ends[1] if r.startswith(f"{_AT_END}{process} |")), "| 0").rpartition(" ")[2]
        return ReadCount(process, None, 0, None, _number(count), _number(other), sites, 0, total)
    return None


def _number(text: str) -> int:
    """A number of reads; none where they weren't counted."""
    return int(text) if text.isdigit() else 0


def _folded(row: str) -> bool:
    return row.startswith("rows ")


def _by_stream(summary: Summary) -> dict[Stream, list[tuple[int, str]]]:
    """The rows of each stream with their place in the process."""
    found: dict[Stream, list[tuple[int, str]]] = {}
    taken: Counter[str] = Counter()
    for row in summary.steps:
        if not _folded(row):
            index, _, rest = row.partition(" ")
            stream = Stream(*summary.streams[int(index)])
            found.setdefault(stream, []).append((taken[stream.process], rest))
            taken[stream.process] += 1
    return found


def _step(stream: Stream, step: int, a: tuple[int, str], b: tuple[int, str]) -> StepDivergence:
    left, right = a[1].split(" "), b[1].split(" ")
    kinds = []
    if left[0] != right[0]:
        note = " -> ".join(",".join(map(readable, side.split(","))) for side in (left[0], right[0]))
        kinds.append(KindChange("loss", 1, (TensorChange("of the backward pass", None, note),)))
    kinds += [
        KindChange(_LETTERS[x[0]], 0, ()) for x, y in zip(left[1:-1], right[1:-1], strict=True) if x != y
    ]
    before = f"step {step - 1} of {stream.title}" if step else "the start"
    passes = 0 if left[0] == "-" else left[0].count(",") + 1
    early = {kind.kind for kind in kinds} & {"loss", "buffers"}
    point = 0 if early else max(0, passes - 1) if any(kind.kind == "grads" for kind in kinds) else passes
    return StepDivergence(stream, step, a[0], "", tuple(kinds), before, point)


_EVENT = re.compile(r"(?P<kind>.*?)(?: env=(?P<env>-?\d+))? (?P<payload>[0-9a-f]{16})", re.DOTALL)


def _events(rows: Sequence[str]) -> list[Event]:
    found = []
    for row in rows:
        match = _EVENT.fullmatch(row)
        if match is None:
            found.append(Event(row, None, {}))
            continue
        env = match["env"]
        found.append(Event(match["kind"], int(env) if env else None, {"payload": match["payload"]}))
    return found


def _dated(rows: Sequence[str], moments: Sequence[Moment | None]) -> list[Event]:
    events = _events(rows)
    if not moments or any(map(_folded, rows)):
        return events
    return [replace(event, moment=moments[min(i, len(moments) - 1)]) for i, event in enumerate(events)]


def _common_event(row: str) -> Event:
    kind, _, rest = row.partition(" ")
    env = rest.partition(" ")[0].removeprefix("env=") if rest.startswith("env=") else ""
    return Event(kind, int(env) if env.isdigit() else None, {"row": row})


def _rows(part: str, a: Sequence[str], b: Sequence[str]) -> list[Rows]:
    longest = max(len(a), len(b))
    pairs = [(a[i] if i < len(a) else "none", b[i] if i < len(b) else "none") for i in range(longest)]
    return [Rows(part, x, y) for x, y in pairs if x != y][:1]
