"""Whether what a run file names of its events and envs is there."""

from __future__ import annotations

from golden.record import Run
from golden.trace.errors import UnusableInput
from golden.trace.trace import Trace


def check_declared(run: Run, trace: Trace) -> None:
    """Raise `UnusableInput` for a type or an env that no event has, or a model that never takes a step.

    A wrong table would blame the wrong env, or call a broken one identical.
    """
    events, env = run.events, run.env
    untyped = bool(trace.events) and all(event.kind == "(no type)" for event in trace.events)
    if events is not None and "type" in events.model_fields_set and untyped:
        raise UnusableInput(f"run {run.name}: [events] type: no event has the field {events.type}")
    if env is None:
        return
    way_out = f"see what `golden doctor {run.name} --suggest` finds"
    if env.field is not None and trace.events and all(event.env is None for event in trace.events):
        raise UnusableInput(f"run {run.name}: [env] field: no event has a number in {env.field}; {way_out}")
    layouts = [step.layout for process in trace.processes for step in process.steps]
    if env.module is not None and layouts and all(layout.env is None for layout in layouts):
        raise UnusableInput(
            f"run {run.name}: [env] module: no model of class {env.module} takes a step; {way_out}"
        )
