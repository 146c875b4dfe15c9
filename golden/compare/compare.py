"""Compare two traces: one verdict over events, steps, tensors, scalars and random states."""

from __future__ import annotations

from golden.compare.events import compare_events
from golden.compare.outcome import (
    Compared,
    Comparison,
    Different,
    Divergence,
    EnvVerdict,
    EventChange,
    FinalState,
    Identical,
    NotComparable,
    RandomState,
    StepCount,
    StepDivergence,
    StepOrder,
    Stream,
)
from golden.compare.steps import compare_process
from golden.trace.trace import Trace


def compare(left: Trace, right: Trace) -> Comparison:
    """The verdict on two traces of one run. Equality is by bits; nothing compared is never identical."""
    compared = Compared(events=min(len(left.events), len(right.events)))
    divergences: list[Divergence] = []
    steps_of: dict[Stream, tuple[int, int | None]] = {}
    if left.about.processes != right.about.processes:
        return NotComparable(
            f"{len(left.about.processes)} processes took steps on the left, "
            f"{len(right.about.processes)} on the right"
        )
    for a, b in zip(left.processes, right.processes, strict=True):
        result = compare_process(a, b)
        compared += result.compared
        divergences += result.divergences
        steps_of.update(result.steps_of)
    changes = compare_events(left.events, right.events)
    envs = _envs(left, right, steps_of, changes)
    if divergences or changes:
        unequal = sorted(
            name
            for name in {*left.about.fingerprint, *right.about.fingerprint}
            if left.about.fingerprint.get(name) != right.about.fingerprint.get(name)
        )
        if unequal:
            return NotComparable(
                "recorded under different fingerprints ("
                + ", ".join(
                    f"{n}: {left.about.fingerprint.get(n)} and {right.about.fingerprint.get(n)}"
                    for n in unequal
                )
                + "), where bits may differ without a cause in the code; record both on one machine"
            )
        ordered: list[Divergence] = sorted(divergences, key=_place)
        ordered += changes[:1] if divergences else []
        if not divergences:
            ordered = list(changes[:1])
        shown = {id(d) for d in ordered}
        rest = [*ordered[1:], *(c for c in changes if id(c) not in shown)]
        return Different(compared, ordered[0], tuple(rest), len(changes), envs)
    if compared.steps == 0 and compared.events == 0:
        return NotComparable("neither an event nor an optimizer step on both sides")
    return Identical(compared, envs)


def _place(found: Divergence) -> tuple[float, int]:
    """Order by step of the whole run; within a step, tensors before counts, counts before order."""
    match found:
        case StepDivergence(number=number):
            return (number, 1)
        case StepCount(number=number):
            return (number, 2)
        case StepOrder(number=number):
            return (number, 0)
        case RandomState(number=number):
            return (number if number is not None else float("inf"), 3)
        case FinalState():
            return (float("inf"), 4)
        case EventChange():
            return (float("inf"), 5)


def _envs(
    left: Trace, right: Trace, steps_of: dict[Stream, tuple[int, int | None]], changes: list[EventChange]
) -> tuple[EnvVerdict, ...]:
    seen = {s.env for s in steps_of if s.env is not None}
    seen |= {e.env for e in (*left.events, *right.events) if e.env is not None}
    verdicts = []
    for env in sorted(seen):
        mine = [counts for stream, counts in steps_of.items() if stream.env == env]
        firsts = [first for _, first in mine if first is not None]
        changed = [place for c in changes if c.env == env for place in (c.left, c.right) if place is not None]
        verdicts.append(
            EnvVerdict(
                env=env,
                steps=sum(total for total, _ in mine),
                first_step=min(firsts, default=None),
                events=sum(e.env == env for e in left.events),
                first_event=min(changed, default=None),
            )
        )
    return tuple(verdicts)
