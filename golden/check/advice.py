"""Checks of a record against its run file and its tree."""

from __future__ import annotations

from collections.abc import Sequence

from golden.compare.tolerance import unused
from golden.record import Run
from golden.trace.errors import UnusableInput
from golden.trace.trace import Trace


def check_declared(run: Run, trace: Trace) -> None:
    """Raise `UnusableInput` for a table of the run file that names nothing of the record.

    That is a tolerance of no number, a type or an env that no event has, a model that never takes a step. A
    wrong table would blame the wrong env, or call a broken one identical.
    """
    for tolerance in unused(trace):
        raise UnusableInput(
            f"run {run.name}: [[tolerance]] of {tolerance.of} {tolerance.field} names no "
            "floating-point number of the run"
        )
    events, env = run.events, run.env
    untyped = bool(trace.events) and all(event.kind == "(no type)" for event in trace.events)
    if events is not None and "type" in events.model_fields_set and untyped:
        raise UnusableInput(f"run {run.name}: [events] type: no event has the field {events.type}")
    if env is None:
        return
    if env.field is not None and trace.events and all(event.env is None for event in trace.events):
        raise UnusableInput(f"run {run.name}: [env] field: no event has a number in {env.field}")
    layouts = [step.layout for process in trace.processes for step in process.steps]
    if env.module is not None and layouts and all(layout.env is None for layout in layouts):
        raise UnusableInput(f"run {run.name}: [env] module: no model of class {env.module} takes a step")


def check_matched(*traces: Trace) -> None:
    """Raise `UnusableInput` for a pattern of files that matches none which any of the traces wrote."""
    first = traces[0].about
    for pattern, there in first.no_files.items():
        if all(pattern in trace.about.no_files for trace in traces):
            raise UnusableInput(
                f"run {first.run}: [outputs] files: {pattern} matches no file that the run wrote; {there}"
            )


def check_same_tree(run: str, traces: Sequence[Trace]) -> None:
    """Raise `UnusableInput` if runs in one tree did not find it as the first one did."""
    if len({trace.about.tree for trace in traces}) > 1:
        raise UnusableInput(
            f"run {run}: the tree changed between two runs of it; run the command again, and "
            "edit when it has ended"
        )


def notes(trace: Trace) -> list[str]:
    """Return advice on a recorded run, one line each."""
    return [*_clock(trace), *unmatched(trace)]


def unmatched(trace: Trace) -> list[str]:
    """Return patterns of unstable fields that name none: one that is misspelt leaves nothing out."""
    seen = {pattern for process in trace.processes for pattern in process.unstable_seen}
    return [
        f"unstable = {pattern!r} matches no field of its events, outputs or extra state"
        for pattern in trace.about.unmatched
        if pattern not in seen
    ]


def _clock(trace: Trace) -> list[str]:
    """Say what was taken for a step, where it is not an optimizer's."""
    classes = {step.layout.optimizer_class for process in trace.processes for step in process.steps}
    if "BackwardPass" in classes:
        return ["steps are backward passes: the program made no optimizer of torch.optim before them"]
    if not classes:
        return ["no step was seen, neither of an optimizer nor a backward pass: only output and events count"]
    return []
