"""The first divergence, as terms with their values."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from golden.compare.outcome import (
    CallChange,
    Divergence,
    EventChange,
    FinalState,
    KindChange,
    LivingState,
    OutputChange,
    ProcessCount,
    RandomState,
    ReadCount,
    ReadValue,
    StepCount,
    StepDivergence,
    StepOrder,
    TensorChange,
)
from golden.report.text import KIND_TITLES, describe
from golden.trace.streams import Stream
from golden.trace.trace import KINDS

Fact = tuple[str, str]
_STEPS_AFTER = 20


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One tensor that differs, in words; empty where no value was kept."""

    kind: str
    name: str
    elements: str = ""
    ulps: str = ""
    absolute: str = ""
    first: str = ""

    @property
    def known(self) -> bool:
        """Whether there is more to say than its name."""
        return bool(self.elements or self.first)


def facts(found: Divergence) -> tuple[Fact, ...]:
    """Where the runs part and by how much; what is not known is left out."""
    match found:
        case StepDivergence(stream=stream, kinds=kinds):
            optimizer = [("Optimizer", found.optimizer)] if found.optimizer else []
            step = f"{found.step} of {stream.title}; {found.number} of the whole run (both from 0)"
            place = [("Last identical", found.before), ("Step", step)]
            return (*place, *_stream(stream), *optimizer, *_kind(kinds[0]))
        case FinalState(stream=stream, kinds=kinds):
            return (("When", "at the end of the run"), *_stream(stream), *_kind(kinds[0]))
        case RandomState(number=number):
            when = f"step {number} of the whole run" if number is not None else "the last step"
            return (
                ("Last identical", found.before),
                ("After", when),
                ("Generators", ", ".join(found.generators)),
            )
        case StepCount(stream=stream):
            return (
                *_stream(stream),
                ("Steps in base", str(found.left)),
                ("in head", str(found.right)),
            )
        case StepOrder(number=number):
            sides = (("Left", found.left.title), ("Right", found.right.title))
            return (("Step", f"{number} of the whole run (from 0)"), *sides)
        case EventChange():
            env = (("Environment", str(found.env)),) if found.env is not None else ()
            places = [(s, p) for s, p in (("base", found.left), ("head", found.right)) if p is not None]
            where = ", ".join(f"{place} in {side}" for side, place in places)
            head = (("Last identical", found.before), ("Event", found.kind), ("Place (from 0)", where))
            return (*head, *env, ("Change", found.change))
        case OutputChange():
            said, *details = describe(found)
            return (("Output", found.output), ("What", said), *(("Place", line) for line in details))
        case ReadCount() | ReadValue() | LivingState() | CallChange():
            said, *details = describe(found)
            return (("What", said), *(("Place", line) for line in details))
        case ProcessCount():
            return (("Processes in base", str(found.left)), ("in head", str(found.right)))
        case _:
            return ((found.part, f"{found.left} → {found.right}"),)


def _stream(stream: Stream) -> tuple[Fact, ...]:
    env = (("Environment", str(stream.env)),) if stream.env is not None else ()
    process = () if stream.process == "rank-0" else (("Process", stream.process),)
    return (*process, *env, ("Model", stream.model))


def _kind(change: KindChange) -> tuple[Fact, ...]:
    name = KIND_TITLES[change.kind]
    if not change.tensors:
        return (("What", name),)
    first = change.tensors[0]
    if change.kind not in KINDS:
        return (("What", f"{name} {first.name}"), ("Change", first.note))
    found: list[Fact] = [("What", name), ("Layer", layer(change.kind, first.name)), ("Tensor", first.name)]
    if first.note:
        return (*found, ("Change", first.note))
    if first.distance is None:
        return tuple(found)
    row, apart = tensor_row(change.kind, first), first.distance
    cells = (
        ("Elements", row.elements),
        ("Largest distance", f"{row.ulps} ulp{'' if row.ulps == '1' else 's'}" if row.ulps else ""),
        ("Absolute", row.absolute),
        ("First element", str(list(apart.index))),
        ("in base", apart.left),
        ("in head", apart.right),
    )
    return (*found, *(cell for cell in cells if cell[1]))


def layer(kind: str, tensor: str) -> str:
    """The module that a tensor belongs to; the state of an optimizer belongs to its parameter's."""
    parts = tensor.split(".")
    return ".".join(parts[: -2 if kind == "state" else -1]) or "(the model itself)"


def tensor_row(kind: str, change: TensorChange) -> TensorRow:
    """One changed tensor as the cells of a table."""
    title = KIND_TITLES[kind]
    apart = change.distance
    if apart is None:
        return TensorRow(title, change.name, first=change.note)
    nans = (
        f" (NaN: {apart.nan_left} in base, {apart.nan_right} in head)"
        if apart.nan_left or apart.nan_right
        else ""
    )
    return TensorRow(
        kind=title,
        name=change.name,
        elements=f"{apart.differing:,} of {apart.elements:,}{nans}",
        ulps="" if apart.ulps is None else f"{apart.ulps:,}",
        absolute="" if apart.absolute is None else f"{apart.absolute:.3g}",
        first=f"{list(apart.index)}: {apart.left} → {apart.right}",
    )


def dense_command(run: str, first: int) -> str:
    """The command that keeps the tensors around a step of the whole run."""
    steps = f"{max(0, first - 2)}:{first + _STEPS_AFTER}"
    return f"golden record {shlex.quote(run)} --dense {steps} -o OUT"
