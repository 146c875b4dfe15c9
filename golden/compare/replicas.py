"""Replicas: all ranks of one run hold the same parameters after every step, and make the same calls."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from golden.compare.calls import NONE, call_change
from golden.compare.compare import compare_process, different
from golden.compare.divergence import Divergence
from golden.compare.outcome import Compared, Comparison, Identical, NotComparable
from golden.compare.sides import sides
from golden.compare.steps import compare_steps
from golden.trace.kinds import KINDS
from golden.trace.trace import Call, Process, Step, Trace


def compare_replicas(trace: Trace) -> Comparison:
    """Return the first step at which a process holds other parameters than rank 0, and the tensor.

    A run of one process has no replicas.
    """
    first, *others = trace.processes or (None,)
    if first is None or not others:
        return NotComparable("the run has one process that took steps, so there are no replicas")
    compared = Compared()
    found: list[Divergence] = []
    for other in others:
        both = sides(_parameters(first, other.name), _parameters(other, other.name))
        result = compare_process(both, (compare_steps,))
        compared += result.compared
        found += result.divergences
        call = other_sequence(first, other)
        found += [call] if call is not None else []
    if not found:
        return Identical(compared)
    return different(compared, found)


def _parameters(process: Process, name: str) -> Process:
    """Return a process as if its steps had nothing but parameters."""
    return replace(process, name=name, steps=tuple(map(_only_parameters, process.steps)))


def _only_parameters(step: Step) -> Step:
    digests = {kind: text if kind == "params" else "" for kind, text in step.digests.items()}
    tensors = {kind: step.layout.tensors[kind] if kind == "params" else () for kind in KINDS}
    return replace(
        step, layout=replace(step.layout, tensors=tensors), digests=digests, losses=(), settings={}
    )


def other_sequence(first: Process, other: Process) -> Divergence | None:
    """Find the first call that a process makes otherwise than another one, of those that all must make.

    Sends and receives, and calls among some ranks only, are each rank's own.
    """
    a, b = _together(first), _together(other)
    for index, (x, y) in enumerate(zip_longest(a, b)):
        if (x and _asked(x[1].text)) != (y and _asked(y[1].text)):
            number = min((n for n, _ in filter(None, (x, y)) if n is not None), default=None)
            texts = [called[1].text if called else NONE for called in (x, y)]
            return call_change(other.name, "sequence", number, index, texts[0], texts[1], 0)
    return None


_OF_SOME = ("send", "isend", "recv", "irecv", "send_object_list", "recv_object_list")
# Of these each rank may give and get another number, or nothing.
_OF_ANY_FORM = ("scatter", "all_to_all", "all_to_all_single")


def _asked(text: str) -> str:
    """Return the part of a call's text that is the same on all ranks that make it."""
    name, _, rest = text.partition(" ")
    if name not in _OF_ANY_FORM:
        return text
    return " ".join([name, *(part for part in rest.split(" ") if "=" in part)])


def _together(process: Process) -> list[tuple[int | None, Call]]:
    calls = [(step.number, call) for step in process.steps for call in step.calls]
    return [
        (number, call)
        for number, call in (*calls, *((None, call) for call in process.calls))
        if call.text.partition(" ")[0] not in _OF_SOME and " among ranks " not in call.text
    ]
