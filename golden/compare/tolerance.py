"""Put the left value in the place of a right one that is within a tolerance, and keep account of it.

What is then compared by bits differs only where nothing allows it. Of tensors a step keeps a
digest, no value: one is within its tolerance if it is so at the end of the run, and then its digests before
don't count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from golden.compare.events import compare_events
from golden.compare.outcome import Tolerated
from golden.compare.values import load_tensors, ulps_apart
from golden.trace.events import Event
from golden.trace.numbers import hex_ulps, ulps
from golden.trace.streams import by_stream, final_streams, streams
from golden.trace.tolerance import Tolerance, find, masked, restored
from golden.trace.trace import KINDS, Process, Step, Trace

_HEX = 32


@dataclass(slots=True)
class Account:
    """What passed by tolerance only."""

    values: dict[Tolerance, list[int]] = field(default_factory=dict)
    steps: dict[Tolerance, int] = field(default_factory=dict)

    def passes(self, tolerance: Tolerance | None, apart: int | None) -> bool:
        """Whether a distance in ulps is allowed; it is written down if so."""
        if tolerance is None or apart is None or not tolerance.allows(apart):
            return False
        if apart:
            self.values.setdefault(tolerance, []).append(apart)
        return True

    def unseen(self, tolerance: Tolerance) -> None:
        """Write down a step of which only digests are known."""
        self.steps[tolerance] = self.steps.get(tolerance, 0) + 1

    def closed(self, tolerances: Sequence[Tolerance]) -> tuple[Tolerated, ...]:
        """One entry for each tolerance that was needed, in their order."""
        return tuple(
            Tolerated(t, len(self.values.get(t, ())), max(self.values.get(t, (0,))), self.steps.get(t, 0))
            for t in tolerances
            if t in self.values or t in self.steps
        )


def agreed(left: Trace, right: Trace) -> tuple[Tolerance, ...]:
    """The tolerances of two traces: one that only a side names is none."""
    return tuple(t for t in left.about.tolerances if t in right.about.tolerances)


def forgive(left: Trace, right: Trace) -> tuple[Trace, tuple[Tolerated, ...]]:
    """The right trace with the left one's values where they are within a tolerance, and which these are."""
    tolerances = agreed(left, right)
    if not tolerances:
        return right, ()
    account = Account()
    events = _events(left.events, right.events, tolerances, account)
    processes = [
        _process(a, b, tolerances, account) for a, b in zip(left.processes, right.processes, strict=False)
    ]
    rest = right.processes[len(processes) :]
    return replace(right, events=events, processes=(*processes, *rest)), account.closed(tolerances)


def unused(trace: Trace) -> list[Tolerance]:
    """The tolerances that name no floating-point number of a trace."""
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
    changes = compare_events(a, b)
    gone, come = {c.left for c in changes}, {c.right for c in changes}
    same = zip(
        (i for i in range(len(a)) if i not in gone), (j for j in range(len(b)) if j not in come), strict=True
    )
    moved = [(c.left, c.right) for c in changes if c.left is not None and c.right is not None]
    found = list(right)
    for i, j in [*same, *moved]:
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


Covered = Mapping[tuple[int, int], Mapping[tuple[str, str], Tolerance]]


def _process(left: Process, right: Process, tolerances: Sequence[Tolerance], account: Account) -> Process:
    covered = _covered(left, right, tolerances, account)
    of_left, of_right = by_stream(left), by_stream(right)
    found = {step.number: step for step in right.steps}
    for stream in of_left.keys() & of_right.keys():
        for x, y in zip(of_left[stream], of_right[stream], strict=False):
            losses = _losses(x, y, find(tolerances, "loss", stream.model), account)
            names = covered.get((x.layout.optimizer, y.layout.optimizer), {})
            found[y.number] = replace(y, losses=losses, digests=_digests(x, y, names, account))
    return replace(right, steps=tuple(found[step.number] for step in right.steps))


def _losses(x: Step, y: Step, tolerance: Tolerance | None, account: Account) -> tuple[str, ...]:
    if len(x.losses) != len(y.losses):
        return y.losses
    return tuple(
        a if a == b or account.passes(tolerance, hex_ulps(a, b)) else b
        for a, b in zip(x.losses, y.losses, strict=True)
    )


def _digests(
    x: Step, y: Step, covered: Mapping[tuple[str, str], Tolerance], account: Account
) -> Mapping[str, str]:
    found = dict(y.digests)
    unseen: set[Tolerance] = set()
    for kind in KINDS if covered else ():
        there = {info: index for index, info in enumerate(x.layout.tensors[kind])}
        parts = [found[kind][start : start + _HEX] for start in range(0, len(found[kind]), _HEX)]
        for index, info in enumerate(y.layout.tensors[kind]):
            tolerance = covered.get((kind, info.name))
            if tolerance is None or info not in there:
                continue
            start = there[info] * _HEX
            theirs = x.digests[kind][start : start + _HEX]
            if parts[index] != theirs:
                parts[index] = theirs
                unseen.add(tolerance)
        found[kind] = "".join(parts)
    for tolerance in unseen:
        account.unseen(tolerance)
    return found


def _covered(left: Process, right: Process, tolerances: Sequence[Tolerance], account: Account) -> Covered:
    """By the optimizers of both sides, the tensors that end within their tolerance."""
    if not any(tolerance.of in KINDS for tolerance in tolerances):
        return {}
    files_left, files_right = final_streams(left), final_streams(right)
    found: dict[tuple[int, int], dict[tuple[str, str], Tolerance]] = {}
    for place in files_left.keys() & files_right.keys():
        a, b = (process.finals[files[place]] for process, files in ((left, files_left), (right, files_right)))
        found[files_left[place], files_right[place]] = _within(a, b, tolerances, account)
    return found


def _within(
    left: Path | str, right: Path | str, tolerances: Sequence[Tolerance], account: Account
) -> dict[tuple[str, str], Tolerance]:
    if isinstance(left, str) or isinstance(right, str):
        return {}
    a, b = load_tensors(left), load_tensors(right)
    found = {}
    for kind, tensors in a.items():
        for name in tensors.keys() & b.get(kind, {}).keys():
            tolerance = find(tolerances, kind, name)
            if tolerance is not None and account.passes(tolerance, ulps_apart(tensors[name], b[kind][name])):
                found[kind, name] = tolerance
    return found
