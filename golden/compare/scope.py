"""Compare of two traces only what a property speaks of: some parts, one environment, some events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from golden.compare.calls import compare_calls
from golden.compare.compare import Kind, judge
from golden.compare.divergence import END, Divergence
from golden.compare.fields import compare_fields
from golden.compare.final_states import compare_final_states
from golden.compare.living import compare_living
from golden.compare.outcome import Comparison, NotComparable
from golden.compare.reads import compare_reads, compare_values
from golden.compare.steps import compare_steps
from golden.trace.events import Event, lookup
from golden.trace.kinds import RANDOM_STATE
from golden.trace.living import Look
from golden.trace.same import Overlap, Part, Same
from golden.trace.streams import Stream, by_stream, streams
from golden.trace.trace import Between, Process, Trace


def compare_within(left: Trace, right: Trace, scope: Same) -> Comparison:
    """Return the verdict on what a property speaks of. A part that neither side has is never identical."""
    a, b = _restricted(left, scope), _restricted(right, scope)
    if scope.overlap is not None:
        a, b = _overlapping(a, b, scope.overlap)
    for part in scope.what:
        if not (_PARTS[part].is_in(a) or _PARTS[part].is_in(b)):
            where = f" {scope.title}" if scope.title else ""
            return NotComparable(f"{_PARTS[part].missing}{where} on either side, so nothing can be compared")
    each = scope.env == "each"
    if each and not (_has_env(a) or _has_env(b)):
        return NotComparable("no event and no optimizer step of any env on either side")
    counts = _counts(a, b, each=each) if "counts" in scope.what else []
    if "events" not in scope.what:
        a, b = replace(a, events=()), replace(b, events=())
    kinds = tuple(dict.fromkeys(kind for part in scope.what for kind in _PARTS[part].kinds))
    return judge(a, b, counts, kinds)


def _draws(of: Between) -> bool:
    return RANDOM_STATE in of.kinds


class _Part(NamedTuple):
    """What is compared of a part, whether a trace has it, and what to say if none does."""

    kinds: tuple[Kind, ...]
    is_in: Callable[[Trace], object]
    missing: str


_PARTS: Mapping[Part, _Part] = {
    "events": _Part((), lambda t: t.events, "no event"),
    "counts": _Part((), lambda t: t.events, "no event"),
    "steps": _Part(
        (compare_steps, compare_calls, compare_final_states),
        lambda t: any(p.steps for p in t.processes),
        "no optimizer step",
    ),
    "rng": _Part(
        (partial(compare_fields, only=RANDOM_STATE),),
        lambda t: any(_draws(p) or any(map(_draws, p.steps)) for p in t.processes),
        "no random state",
    ),
    "reads": _Part(
        (compare_reads,),
        lambda t: any(p.reads is not None or any(s.reads is not None for s in p.steps) for p in t.processes),
        "no counted host read",
    ),
    "values": _Part(
        (compare_values,), lambda t: any(p.values is not None for p in t.processes), "no value of a host read"
    ),
    "outputs": _Part((), lambda t: any(output.rows for output in t.outputs), "no output"),
    "modules": _Part(
        (compare_living,), lambda t: any(p.looks for p in t.processes), "no module or own generator"
    ),
    "final": _Part((compare_final_states,), lambda t: any(p.finals for p in t.processes), "no final state"),
}

# Parts that are held, whole or in part, by the record of every step.
_OF_STEPS: frozenset[Part] = frozenset(("steps", "rng", "reads", "values", "final"))


def _has_env(trace: Trace) -> bool:
    steps = (step for process in trace.processes for step in process.steps)
    return any(e.env is not None for e in trace.events) or any(s.layout.env is not None for s in steps)


def _counts(a: Trace, b: Trace, *, each: bool) -> list[Divergence]:
    left, right = (
        Counter(f"{e.kind} of env {e.env}" if each and e.env is not None else e.kind for e in trace.events)
        for trace in (a, b)
    )
    return [
        Divergence(f"counts of {kind}", (END, END, 10), [f"counts of {kind}: {left[kind]} -> {right[kind]}"])
        for kind in dict.fromkeys([*left, *right])
        if left[kind] != right[kind]
    ]


def _restricted(trace: Trace, scope: Same) -> Trace:
    events = [event for event in trace.events if _speaks_of(event, scope)]
    if scope.env == "each":
        events.sort(key=lambda event: _env_order(event.env))
    # Where nothing of processes is asked for, their number is no difference.
    asked = any(_PARTS[part].kinds for part in scope.what)
    ranks = trace.processes[:1] if scope.ranks == "first" else trace.processes
    processes = tuple(_part_of(p, scope) for p in ranks) if asked else ()
    outputs = trace.outputs if "outputs" in scope.what else ()
    return replace(trace, events=tuple(events), processes=processes, outputs=outputs)


def _speaks_of(event: Event, scope: Same) -> bool:
    if isinstance(scope.env, int) and event.env != scope.env:
        return False
    return all(lookup(event.payload, name) == value for name, value in scope.where.items())


def _part_of(process: Process, scope: Same) -> Process:
    of_optimizer = streams(process)
    kept = {
        optimizer
        for optimizer, stream in of_optimizer.items()
        if not _OF_STEPS.isdisjoint(scope.what)
        and (not isinstance(scope.env, int) or stream.env == scope.env)
    }
    steps = [step for step in process.steps if step.layout.optimizer in kept]
    if scope.env == "each":
        # Whose random numbers came before a step depends on how the envs interleave.
        steps = [
            replace(step, kinds={}) for step in sorted(steps, key=lambda step: _env_order(step.layout.env))
        ]
    at_end = scope.overlap != "start"
    return replace(
        process,
        steps=tuple(steps),
        kinds=process.kinds if at_end else {},
        reads=process.reads if at_end else None,
        values=process.values if at_end else {},
        finals={o: path for o, path in process.finals.items() if o in kept},
        looks=tuple(map(_without_attributes, process.looks)),
    )


def _without_attributes(look: Look) -> Look:
    """Return a look at modules without what is no state: variants of a run may count and name otherwise."""
    return replace(look, modules=tuple(replace(module, attributes=None) for module in look.modules))


def _env_order(env: int | None) -> tuple[bool, int]:
    return env is None, -1 if env is None else env


def _overlapping(left: Trace, right: Trace, overlap: Overlap) -> tuple[Trace, Trace]:
    if len(left.processes) != len(right.processes):
        return left, right  # which is a difference by itself
    pairs = [_shared(a, b, overlap) for a, b in zip(left.processes, right.processes, strict=True)]
    return (
        replace(left, processes=tuple(a for a, _ in pairs)),
        replace(right, processes=tuple(b for _, b in pairs)),
    )


def _shared(a: Process, b: Process, overlap: Overlap) -> tuple[Process, Process]:
    """Return both sides with as many steps of each stream as both took, and what they ended with there."""
    left, right = by_stream(a), by_stream(b)
    sizes = {stream: min(len(left[stream]), len(right[stream])) for stream in left.keys() & right.keys()}
    cut: list[tuple[Process, set[int], dict[int, tuple[Stream, int]]]] = []
    # What an optimizer ended with after more steps than the other side took says nothing.
    gone_on: set[tuple[Stream, int]] = set()
    for process, steps in ((a, left), (b, right)):
        numbers: set[int] = set()
        places: dict[int, tuple[Stream, int]] = {}
        for stream, mine in steps.items():
            size = sizes.get(stream, 0)
            kept, later = (mine[:size], mine[size:]) if overlap == "start" else (mine[len(mine) - size :], [])
            numbers |= {step.number for step in kept}
            optimizers = dict.fromkeys(step.layout.optimizer for step in kept)
            places |= {optimizer: (stream, place) for place, optimizer in enumerate(optimizers)}
            gone_on |= {places[o] for step in later if (o := step.layout.optimizer) in places}
        cut.append((process, numbers, places))
    x, y = (
        replace(
            process,
            steps=tuple(step for step in process.steps if step.number in numbers),
            finals={o: end for o, end in process.finals.items() if o in places and places[o] not in gone_on},
        )
        for process, numbers, places in cut
    )
    return x, y
