"""What a comparison can find: a closed union of frozen values, rendered elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from golden.trace.errors import ExitCode
from golden.trace.moments import Moment
from golden.trace.streams import Stream
from golden.trace.tolerance import Tolerance


@dataclass(frozen=True, slots=True)
class Compared:
    """How much was compared, pair by pair; ``left_out`` counts final states that could not be.

    ``outputs`` counts lines and fields of what was printed and written, ``living`` states of modules and of
    the program's own generators; ``uncompared`` names what was not. ``places`` are those
    of ranks in a mesh of devices.
    ``unstable`` are places that differ between two runs of the base, ``unwatched`` files that the program
    wrote where nothing looks, with what to do about it, ``masked`` what reads like a time or a rate.
    """

    events: int = 0
    steps: int = 0
    tensors: int = 0
    bytes: int = 0
    scalars: int = 0
    rng_states: int = 0
    reads: int = 0
    left_out: int = 0
    outputs: int = 0
    living: int = 0
    uncompared: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    unstable: tuple[str, ...] = ()
    unwatched: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()

    def __add__(self, other: Compared) -> Compared:
        sums: dict[str, Any] = {}
        for each in fields(self):
            a, b = getattr(self, each.name), getattr(other, each.name)
            sums[each.name] = a + b if isinstance(a, int) else tuple(dict.fromkeys([*a, *b]))
        return Compared(**sums)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far two tensors of one dtype and shape are apart. ``ulps`` is None where no number is."""

    differing: int
    elements: int
    ulps: int | None
    absolute: float | None
    nan_left: int
    nan_right: int
    index: tuple[int, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class TensorChange:
    """One tensor that differs; ``distance`` is None where only digests were kept."""

    name: str
    distance: Distance | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class KindChange:
    """The tensors of one kind that differ at a step, or scalars, settings or random states."""

    kind: str
    total: int
    tensors: tuple[TensorChange, ...]


@dataclass(frozen=True, slots=True)
class StepDivergence:
    """The first step of a stream that differs. ``step`` counts within the stream, from 0.

    ``point`` says since when within the step: one of its backward passes in order, then the step itself.
    """

    stream: Stream
    step: int
    number: int
    optimizer: str
    kinds: tuple[KindChange, ...]
    before: str
    point: int = 0


@dataclass(frozen=True, slots=True)
class StepCount:
    """A stream took more steps on one side; a stream that is missing took none.

    The first one that is more is ``step`` of the stream, at step ``number`` of the run; with ``between``,
    both sides go on after it.
    """

    stream: Stream
    left: int
    right: int
    number: int
    step: int = 0
    between: bool = False


@dataclass(frozen=True, slots=True)
class StepOrder:
    """The same steps in another order among streams."""

    process: str
    number: int
    left: Stream
    right: Stream


@dataclass(frozen=True, slots=True)
class RandomState:
    """A generator's state differs first after this step; None for the end of the run."""

    process: str
    generators: tuple[str, ...]
    number: int | None
    before: str


@dataclass(frozen=True, slots=True)
class FinalState:
    """The state that an optimizer and its models ended with differs."""

    stream: Stream
    kinds: tuple[KindChange, ...]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of an event; a side without it holds None."""

    path: str
    left: str | None
    right: str | None
    ulps: int | None


@dataclass(frozen=True, slots=True)
class EventChange:
    """One event that is missing in head, extra there, moved, or changed. Indices count from 0.

    ``moment`` is when it was there on every side that has it, where that was noted.
    """

    change: Literal["missing", "extra", "moved", "changed"]
    kind: str
    env: int | None
    left: int | None
    right: int | None
    fields: tuple[FieldChange, ...]
    before: str
    moment: Moment | None = None


@dataclass(frozen=True, slots=True)
class OutputChange:
    """A stream or file that differs: its first differing line, row or fields, of ``total`` that do.

    ``place`` says where in it, empty for the whole of it.
    """

    output: str
    change: Literal["missing", "extra", "moved", "changed"]
    place: str
    fields: tuple[FieldChange, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a golden that differ, where it says no more than that."""

    part: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class SiteChange:
    """How often one place of the program reads tensors to the host on both sides."""

    title: str
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class ReadCount:
    """The host reads another number of tensors before a step; ``number`` is None for the end of the run.

    ``sites`` says where, of this step if both traces are at hand, else of the whole run. ``steps`` of
    ``total`` steps differ so.
    """

    process: str
    stream: Stream | None
    step: int
    number: int | None
    left: int
    right: int
    sites: tuple[SiteChange, ...]
    steps: int
    total: int


@dataclass(frozen=True, slots=True)
class ValueChange:
    """What one place of the program reads to the host on both sides."""

    title: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ReadValue:
    """The host reads another value before a step; ``number`` is None for after the last one."""

    process: str
    stream: Stream | None
    step: int
    number: int | None
    sites: tuple[ValueChange, ...]


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """A module, or a generator of the program's own, in another state; ``title`` names it."""

    title: str
    kinds: tuple[KindChange, ...]


@dataclass(frozen=True, slots=True)
class LivingState:
    """The first look at which something that lives differs: before the step ``number`` or ``after`` it.

    ``number`` is None for the end of the run.
    """

    process: str
    look: str
    number: int | None
    after: bool
    changes: tuple[ModuleChange, ...]
    before: str


@dataclass(frozen=True, slots=True)
class CallChange:
    """The first call of other processes in which two sides differ: another one, or other values.

    It is call ``index`` before the step ``number``, None for after the last one. ``point`` counts the
    backward passes of that step before it.
    """

    process: str
    change: Literal["sequence", "gives", "gets"]
    number: int | None
    index: int
    left: str
    right: str
    point: int


@dataclass(frozen=True, slots=True)
class ProcessCount:
    """Another number of processes took steps."""

    left: int
    right: int


Divergence = (
    StepDivergence
    | StepCount
    | StepOrder
    | RandomState
    | FinalState
    | EventChange
    | OutputChange
    | Rows
    | ReadCount
    | ReadValue
    | LivingState
    | CallChange
    | ProcessCount
)


@dataclass(frozen=True, slots=True)
class EnvVerdict:
    """One environment's fate: its first differing step and event, None where all are equal."""

    env: int
    steps: int
    first_step: int | None
    events: int
    first_event: int | None

    @property
    def identical(self) -> bool:
        """Whether nothing of it differs."""
        return self.first_step is None and self.first_event is None


@dataclass(frozen=True, slots=True)
class Tolerated:
    """What a tolerance let pass: how many values, the largest distance in ulps, and how many steps of which
    only digests are known, which differ.
    """

    tolerance: Tolerance
    values: int
    ulps: int
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Identical:
    """Everything compared is equal, but for what is ``tolerated``, and something was compared."""

    compared: Compared
    envs: tuple[EnvVerdict, ...] = ()
    tolerated: tuple[Tolerated, ...] = ()
    code: ExitCode = field(default=ExitCode.IDENTICAL, init=False)


@dataclass(frozen=True, slots=True)
class Different:
    """Something differs: the first divergence, and the first of each kind and place after it."""

    compared: Compared
    first: Divergence
    rest: tuple[Divergence, ...]
    event_changes: int
    envs: tuple[EnvVerdict, ...] = ()
    tolerated: tuple[Tolerated, ...] = ()
    code: ExitCode = field(default=ExitCode.DIFFERENT, init=False)


@dataclass(frozen=True, slots=True)
class NotComparable:
    """No judgement is possible; ``found`` is a difference that may have another cause than the code."""

    reason: str
    found: Different | None = None
    code: ExitCode = field(default=ExitCode.NOTHING_COMPARABLE, init=False)


Comparison = Identical | Different | NotComparable


def by_tolerance(found: Comparison) -> bool:
    """Whether a comparison passed by a tolerance only."""
    return isinstance(found, Identical) and bool(found.tolerated)
