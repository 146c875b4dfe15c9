"""Two sequences of optimizer steps: stream by stream, the first step that differs and in what."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from golden.compare.align import align
from golden.compare.calls import compare_calls
from golden.compare.divergence import (
    END,
    KIND_TITLES,
    Divergence,
    KindChange,
    TensorChange,
    kind_text,
    number_of,
    tensor_lines,
)
from golden.compare.held import compare_held
from golden.compare.living import compare_living
from golden.compare.outcome import Compared
from golden.compare.reads import compare_reads, compare_values
from golden.compare.renamed import with_names
from golden.compare.tolerance import Account
from golden.compare.values import distance, load_tensors, same_files, ulps_apart
from golden.trace.dtypes import element_size
from golden.trace.moments import Moment
from golden.trace.numbers import apart_text, hex_ulps, readable
from golden.trace.streams import Stream, by_stream, final_streams, streams
from golden.trace.tolerance import Tolerance, find
from golden.trace.trace import KINDS, Layout, Process, Step, TensorInfo

if TYPE_CHECKING:
    import torch

_HEX = 32


@dataclass(frozen=True, slots=True)
class StepDivergence(Divergence):
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

    def order(self) -> tuple[float, float, float]:
        # Another process may only have got its gradients from the one whose loss differs.
        return (self.number, self.point, 2 if self.kinds[0].kind in ("loss", "buffers") else 3)

    def origin(self) -> tuple[str, tuple[float, float]]:
        # Gradients are as the last backward pass left them, or what came after it.
        return self.stream.process, (self.number, self.point + (self.kinds[0].kind == "grads"))

    def say(self) -> list[str]:
        optimizer = f", {self.optimizer}" if self.optimizer else ""
        place = f"step {self.step} of {self.stream.title} (step {self.number} overall{optimizer})"
        head = f"{place}: {kind_text(self.kinds[0])}"
        return [head, *tensor_lines(self.kinds), f"last identical: {self.before}"]

    @property
    def kind_title(self) -> str:
        return KIND_TITLES[self.kinds[0].kind]


@dataclass(frozen=True, slots=True)
class StepOrder(Divergence):
    """The same steps in another order among streams."""

    title = "steps"

    process: str
    number: int
    left: Stream
    right: Stream

    def order(self) -> tuple[float, float, float]:
        return (self.number, 0, 1)

    def say(self) -> list[str]:
        sides = f"of {self.left.title} in base, of {self.right.title} in head"
        return [f"order of steps: step {self.number} overall is {sides}"]


@dataclass(frozen=True, slots=True)
class RandomState(Divergence):
    """A generator's state differs first after this step; None for the end of the run."""

    title = "random state"

    process: str
    generators: tuple[str, ...]
    number: int | None
    before: str

    def order(self) -> tuple[float, float, float]:
        return (number_of(self.number), END, 5)

    def origin(self) -> tuple[str, tuple[float, float]]:
        return self.process, (number_of(self.number), END)

    def say(self) -> list[str]:
        where = f"after step {self.number} overall" if self.number is not None else "at the end of the run"
        return [
            f"random state {where}: {', '.join(self.generators)}",
            f"last identical: {self.before}",
        ]


@dataclass(frozen=True, slots=True)
class FinalState(Divergence):
    """The state that an optimizer and its models ended with differs."""

    title = "final state"

    stream: Stream
    kinds: tuple[KindChange, ...]

    def order(self) -> tuple[float, float, float]:
        return (END, END, 8)

    def origin(self) -> tuple[str, tuple[float, float]]:
        return self.stream.process, (END, END)

    def say(self) -> list[str]:
        head = f"final state of {self.stream.title}: {kind_text(self.kinds[0])}"
        return [head, *tensor_lines(self.kinds)]


@dataclass(frozen=True, slots=True)
class StepsResult:
    """What comparing the steps of one process found; ``moment_of`` dates the right side by the left one's."""

    compared: Compared
    divergences: tuple[Divergence, ...]
    steps_of: Mapping[Stream, tuple[int, int | None]]
    moment_of: Callable[[Moment], Moment]


def compare_process(
    left: Process, right: Process, tolerances: Sequence[Tolerance] = (), account: Account | None = None
) -> StepsResult:
    """Compare the steps, the random states and the final state of one process on both sides.

    ``tolerances`` are of the final state.
    """
    aligned = align(left, right)
    taken = {stream: len(steps) for stream, steps in (by_stream(left) | by_stream(right)).items()}
    counts = {count.stream: count for count in aligned.more}
    whole = left, right
    left, right = replace(left, steps=aligned.left), replace(right, steps=aligned.right)
    of_left, of_right = by_stream(left), by_stream(right)
    compared = Compared()
    divergences: list[Divergence] = [*aligned.more]
    steps_of: dict[Stream, tuple[int, int | None]] = {}
    for stream in taken:
        a, b = of_left.get(stream, []), of_right.get(stream, [])
        first, amount = _compare_stream(stream, a, b, left, right)
        compared += amount
        if first is not None:
            divergences.append(first)
        more = counts.get(stream)
        firsts = [found.step for found in (first, more) if found is not None]
        total = max(more.left, more.right) if more is not None else taken[stream]
        steps_of[stream] = (total, min(firsts, default=None))
    order = _compare_order(*whole)
    if order is not None:
        divergences.append(order)
    rng = _compare_rng(left, right)
    if rng is not None:
        divergences.append(rng)
    call = compare_calls(left, right)
    if call is not None:
        divergences.append(call)
    reads, count = compare_reads(left, right, of_left, of_right)
    if reads is not None:
        divergences.append(reads)
    loaders = max(left.loader_processes, right.loader_processes)
    if loaders and (left.reads is not None or right.reads is not None):
        compared += Compared(uncompared=("what loader processes read to the host",))
    values, uncompared = compare_values(left, right, of_left, of_right)
    divergences += values
    compared += Compared(uncompared=uncompared)
    unread = dict.fromkeys([*left.unread, *right.unread])
    if unread:
        shown = ", ".join(list(unread)[:3]) + (" …" if len(unread) > 3 else "")
        compared += Compared(uncompared=(f"what can't be read ({shown})",))
    until = min((count.number for count in aligned.more if count.between), default=None)
    living = compare_living(left, right, until)
    divergences += living.divergences
    compared += Compared(living=living.compared, uncompared=living.uncompared)
    held, uncompared = compare_held(left, right)
    divergences += held
    compared += Compared(uncompared=uncompared)
    finals, amount = _compare_finals(*whole, tolerances, account or Account())
    generators = min(len(left.rng), len(right.rng))
    states = sum(len(s.rng) for s in left.steps[: len(right.steps)]) + generators
    places = ((right.name, right.place),) if right.place else ()
    compared += amount + Compared(rng_states=states, reads=count, places=places)
    return StepsResult(compared, (*divergences, *finals), steps_of, aligned.on_the_left)


def _compare_stream(
    stream: Stream, a: Sequence[Step], b: Sequence[Step], left: Process, right: Process
) -> tuple[StepDivergence | None, Compared]:
    compared = Compared()
    first = None
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        compared += _contents(x)
        if first is None:
            kinds = _compare_step(x, y, left, right)
            if kinds:
                before = f"step {index - 1} of {stream.title}" if index else "the start"
                optimizer, point = x.layout.optimizer_class, _point(x, y, kinds)
                first = StepDivergence(stream, index, x.number, optimizer, kinds, before, point)
    return first, compared


def _point(x: Step, y: Step, kinds: tuple[KindChange, ...]) -> int:
    """Since when within a step two sides differ: a loss at its backward pass, gradients at the last one."""
    passes = min(len(x.losses), len(y.losses))
    match kinds[0].kind:
        case "buffers":
            return 0
        case "loss":
            return next(
                (i for i, (a, b) in enumerate(zip(x.losses, y.losses, strict=False)) if a != b), passes
            )
        case "grads":
            return max(0, passes - 1)
        case _:
            return len(x.losses)


def _contents(step: Step) -> Compared:
    infos = [info for kind in KINDS for info in step.layout.tensors[kind]]
    size = sum(info.elements * element_size(info.dtype) for info in infos)
    return Compared(steps=1, tensors=len(infos), bytes=size, scalars=len(step.losses) + len(step.settings))


def _compare_step(a: Step, b: Step, left: Process, right: Process) -> tuple[KindChange, ...]:
    changes: list[KindChange] = []
    files = left.dense_file(a.number), right.dense_file(b.number)

    @functools.cache
    def kept() -> list[Mapping[str, Mapping[str, torch.Tensor]]]:
        return [{} if None in files or path is None else load_tensors(path) for path in files]

    def tensors(kind: str) -> None:
        if a.digests[kind] == b.digests[kind] and a.layout.tensors[kind] == b.layout.tensors[kind]:
            return
        named = _named(a.layout, a.digests, kind), _named(b.layout, b.digests, kind)
        values = [side.get(kind, {}) for side in kept()]
        total = len(named[0].keys() | named[1].keys())
        changes.append(_change(kind, total, _tensor_changes(*named, *values)))

    tensors("buffers")
    if a.losses != b.losses:
        changes.append(_scalars("loss", _numbered(a.losses), _numbered(b.losses)))
    tensors("grads")
    if a.settings != b.settings:
        changes.append(_scalars("settings", a.settings, b.settings))
    tensors("params")
    tensors("state")
    return tuple(changes)


def _change(kind: str, total: int, changes: Sequence[TensorChange]) -> KindChange:
    """The tensors of a kind that differ; where digests of all of them are known alone, none is named."""
    named = tuple(change for change in changes if change.name)
    return KindChange(kind, total if named else 0, named)


def _numbered(losses: Sequence[str]) -> dict[str, str]:
    return {f"of backward pass {index}": loss for index, loss in enumerate(losses)}


def _scalars(kind: str, a: Mapping[str, str], b: Mapping[str, str]) -> KindChange:
    names = [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]
    changes = tuple(
        TensorChange(name, None, _scalar_note(a.get(name), b.get(name), exact=kind == "loss"))
        for name in names
    )
    return _change(kind, max(len(a), len(b)), changes)


def _scalar_note(a: str | None, b: str | None, *, exact: bool) -> str:
    if a is None or b is None:
        return f"{a or 'absent'} -> {b or 'absent'}"
    if not exact:
        return f"{a} -> {b}"
    apart = hex_ulps(a, b)
    far = apart_text(float.fromhex(a), float.fromhex(b), apart) if apart is not None else ""
    return f"{readable(a)} -> {readable(b)}" + (f" ({far})" if far else "")


def _named(layout: Layout, digests: Mapping[str, str], kind: str) -> dict[str, tuple[TensorInfo, str]]:
    text = digests[kind]
    return {
        info.name: (info, text[index * _HEX : (index + 1) * _HEX])
        for index, info in enumerate(layout.tensors[kind])
    }


def _tensor_changes(
    a: Mapping[str, tuple[TensorInfo, str]],
    b: Mapping[str, tuple[TensorInfo, str]],
    values_a: Mapping[str, torch.Tensor],
    values_b: Mapping[str, torch.Tensor],
) -> list[TensorChange]:
    changes = []
    for name in dict.fromkeys([*a, *b]):
        if name not in b:
            changes.append(TensorChange(name, None, "absent in head"))
        elif name not in a:
            changes.append(TensorChange(name, None, "absent in base"))
        elif a[name][0] != b[name][0]:
            x, y = a[name][0], b[name][0]
            changes.append(TensorChange(name, None, f"{x.dtype}{list(x.shape)} -> {y.dtype}{list(y.shape)}"))
        elif a[name][1] != b[name][1]:
            known = name in values_a and name in values_b
            apart = distance(values_a[name], values_b[name]) if known else None
            changes.append(TensorChange(name, apart))
    if not changes:
        changes.append(TensorChange("(all)", None, "the same tensors in another order"))
    return changes


def _compare_order(left: Process, right: Process) -> StepOrder | None:
    names_left, names_right = streams(left), streams(right)
    a = [names_left[s.layout.optimizer] for s in left.steps]
    b = [names_right[s.layout.optimizer] for s in right.steps]
    if Counter(a) != Counter(b):
        return None  # a step count differs, which is reported as such
    for number, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y:
            return StepOrder(left.name, left.steps[number].number, x, y)
    return None


def _compare_rng(left: Process, right: Process) -> RandomState | None:
    for number, (x, y) in enumerate(zip(left.steps, right.steps, strict=False)):
        if x.rng != y.rng:
            before = f"step {number - 1} overall" if number else "the start"
            return RandomState(left.name, _unequal(x.rng, y.rng), number, before)
    if left.rng != right.rng:
        before = f"step {len(left.steps) - 1} overall" if left.steps else "the start"
        return RandomState(left.name, _unequal(left.rng, right.rng), None, before)
    return None


def _unequal(a: Mapping[str, str], b: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name))


def _compare_finals(
    left: Process, right: Process, tolerances: Sequence[Tolerance], account: Account
) -> tuple[list[FinalState], Compared]:
    files_left, files_right = final_streams(left), final_streams(right)
    compared = Compared(left_out=max(len(left.left_out), len(right.left_out)))
    found: list[FinalState] = []
    for key in dict.fromkeys([*files_left, *files_right]):
        stream = key[0]
        if key not in files_left or key not in files_right:
            side = "base" if key not in files_left else "head"
            note = TensorChange("(all)", None, f"no final state in {side}")
            found.append(FinalState(stream, (KindChange("state", 0, (note,)),)))
            continue
        x_file, y_file = left.finals[files_left[key]], right.finals[files_right[key]]
        if isinstance(x_file, str) or isinstance(y_file, str):
            if x_file != y_file:
                found.append(FinalState(stream, (KindChange("whole", 0, ()),)))
            continue
        same = same_files(x_file, y_file)
        if same is not None:
            compared += Compared(tensors=same[0], bytes=same[1])
            continue
        a, b = load_tensors(x_file), load_tensors(y_file)
        kinds = []
        for kind in dict.fromkeys([*a, *b]):
            x, y = a.get(kind, {}), b.get(kind, {})
            y = {with_names(name, right.classes): tensor for name, tensor in y.items()}
            compared += Compared(tensors=len(x), bytes=sum(t.nbytes for t in x.values()))
            changes = _value_changes(kind, x, y, tolerances, account)
            if changes:
                kinds.append(KindChange(kind, len(x.keys() | y.keys()), tuple(changes)))
        if kinds:
            found.append(FinalState(stream, tuple(kinds)))
    return found, compared


def _value_changes(
    kind: str,
    a: Mapping[str, torch.Tensor],
    b: Mapping[str, torch.Tensor],
    tolerances: Sequence[Tolerance],
    account: Account,
) -> list[TensorChange]:
    changes = []
    for name in dict.fromkeys([*a, *b]):
        if name not in a or name not in b:
            changes.append(TensorChange(name, None, f"absent in {'base' if name not in a else 'head'}"))
        elif a[name].dtype != b[name].dtype or a[name].shape != b[name].shape:
            x, y = a[name], b[name]
            note = f"{str(x.dtype)[6:]}{list(x.shape)} -> {str(y.dtype)[6:]}{list(y.shape)}"
            changes.append(TensorChange(name, None, note))
        else:
            apart = distance(a[name], b[name])
            allowed = find(tolerances, kind, name)
            if apart is not None and not (allowed and account.passes(allowed, ulps_apart(a[name], b[name]))):
                changes.append(TensorChange(name, apart))
    return changes
