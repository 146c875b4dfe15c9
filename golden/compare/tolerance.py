"""Put the left value in the place of a right one that is within a tolerance, and keep account of it.

What is then compared by bits differs only where nothing allows it. Tensors have one in the final state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from golden.compare.events import aligned
from golden.compare.outcome import Tolerated
from golden.trace.events import Event
from golden.trace.kinds import KINDS
from golden.trace.numbers import hex_ulps, ulps
from golden.trace.streams import by_stream, streams
from golden.trace.tolerance import Tolerance, find, masked, restored
from golden.trace.trace import Process, Step, Trace


@dataclass(slots=True)
class Account:
    """The values that passed by tolerance only."""

    values: dict[Tolerance, list[int]] = field(default_factory=dict)

    def passes(self, tolerance: Tolerance | None, apart: int | None) -> bool:
        """Tell whether a distance in ulps is allowed, and write it down if so; None is no distance."""
        if tolerance is None or apart is None or apart > tolerance.ulps:
            return False
        if apart:
            self.values.setdefault(tolerance, []).append(apart)
        return True

    def closed(self, tolerances: Sequence[Tolerance]) -> tuple[Tolerated, ...]:
        """Return one entry for each tolerance that was needed, in their order."""
        return tuple(
            Tolerated(t, len(self.values[t]), max(self.values[t])) for t in tolerances if t in self.values
        )


def agreed(left: Trace, right: Trace) -> tuple[Tolerance, ...]:
    """Return the tolerances of two traces: one that only a side names is none."""
    return tuple(t for t in left.about.tolerances if t in right.about.tolerances)


def forgive(left: Trace, right: Trace, account: Account) -> Trace:
    """Return the right trace with the left one's events and losses where they are within a tolerance."""
    tolerances = agreed(left, right)
    if not tolerances:
        return right
    events = _events(left.events, right.events, tolerances, account)
    processes = [
        _process(a, b, tolerances, account) for a, b in zip(left.processes, right.processes, strict=False)
    ]
    rest = right.processes[len(processes) :]
    return replace(right, events=events, processes=(*processes, *rest))


def unused(trace: Trace) -> list[Tolerance]:
    """Return the tolerances that name no floating-point number of a trace."""
    used: set[Tolerance] = set()
    given = trace.about.tolerances
    if not given:
        return []
    for event in trace.events:
        used.update(t for path in masked(event.payload, given)[1] if (t := find(given, "events", path)))
    for process in trace.processes:
        for optimizer, stream in streams(process).items():
            steps = [step for step in process.steps if step.layout.optimizer == optimizer]
            if any(step.losses for step in steps):
                used.update(t for t in given if t.of == "loss" and t.names(stream.model))
            infos = {(kind, i.name): i for step in steps for kind in KINDS for i in step.layout.tensors[kind]}
            used.update(
                t
                for (kind, name), info in infos.items()
                if "float" in info.dtype and (t := find(given, kind, name)) is not None
            )
    return [tolerance for tolerance in given if tolerance not in used]


def _events(
    left: Sequence[Event], right: Sequence[Event], tolerances: Sequence[Tolerance], account: Account
) -> tuple[Event, ...]:
    sides = [[masked(event.payload, tolerances) for event in side] for side in (left, right)]
    a, b = (
        [replace(event, payload=payload) for event, (payload, _) in zip(side, found, strict=True)]
        for side, found in zip((left, right), sides, strict=True)
    )
    found = list(right)
    for i, j in aligned(a, b):
        if i is None or j is None:
            continue
        x, y = sides[0][i][1], sides[1][j][1]
        allowed = {
            path: x[path]
            for path in x.keys() & y.keys()
            if account.passes(find(tolerances, "events", path), _apart(x[path], y[path]))
        }
        found[j] = replace(right[j], payload=restored(right[j].payload, allowed))
    return tuple(found)


def _apart(left: float, right: float) -> int | None:
    return 0 if left.hex() == right.hex() else ulps(left, right)


def _process(left: Process, right: Process, tolerances: Sequence[Tolerance], account: Account) -> Process:
    of_left, of_right = by_stream(left), by_stream(right)
    found = {step.number: step for step in right.steps}
    for stream in of_left.keys() & of_right.keys():
        tolerance = find(tolerances, "loss", stream.model)
        if tolerance is not None:
            for x, y in zip(of_left[stream], of_right[stream], strict=False):
                found[y.number] = replace(y, losses=_losses(x, y, tolerance, account))
    return replace(right, steps=tuple(found[step.number] for step in right.steps))


def _losses(x: Step, y: Step, tolerance: Tolerance | None, account: Account) -> tuple[str, ...]:
    if len(x.losses) != len(y.losses):
        return y.losses
    return tuple(
        a if a == b or account.passes(tolerance, hex_ulps(a, b)) else b
        for a, b in zip(x.losses, y.losses, strict=True)
    )
