"""Tensors of a simulated device: tensors of the CPU whose class and storage say that they are on a GPU."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from types import MethodWrapperType
from typing import Any

import torch

from . import internals
from .arrivals import HostCopy, pinned, poison
from .mistakes import SAME_DEVICE
from .operations import ASKING, Operation, from_host, single, times
from .streams import CURRENT, HOST, RACES, State, Stream, host_waits, merge, of_operation, queue
from .syncs import SYNCS, Place, place

_Tensor: Any = torch.Tensor
_CPU = torch.device("cpu")
# How the program asked for a number.
_ASKED = {"__bool__": "truth", "__float__": "item", "__int__": "item", "__index__": "index", "item": "item"}
_PLAIN = frozenset({int, float, bool, type(None), torch.dtype, torch.layout, torch.memory_format, str})
_OF_HOST = (torch.Tensor, torch.nn.Parameter)
# Operations that a tensor of the host takes a number of a device from.
_PUTTING = ("index_put_", "_index_put_impl_")
_operations: dict[int, Operation] = {}
# How each function of torch is called.
_calls: dict[Any, Callable[[Any, Any, Any], Any]] = {}
# Functions of torch that a device has its own for.
OWN: dict[Any, Any] = {}


class SimulatedTensor(_Tensor):  # type: ignore[misc]
    """A tensor that says ``cuda:0``; its storage has a `State`."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = _calls.get(func)
        if call is None:
            call = _calls[func] = _call_of(func)
        return call(func, args, kwargs or {})

    @property
    def state(self) -> State:
        with internals.Disabled():
            return storage_of(self).state  # type: ignore[no-any-return]

    @property
    def number(self) -> int:
        return self.state.made[0].index

    @property
    def device(self) -> torch.device:
        return self.state.made[0].device

    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)

    def get_device(self) -> int:
        return self.number

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def record_stream(self, stream: Any) -> None:
        if isinstance(stream, Stream):
            self.state.recorded = {*(self.state.recorded or ()), stream.number}


def storage_of(tensor: torch.Tensor) -> Any:
    """The storage that a tensor has its values in."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return internals.values_of(tensor).untyped_storage()


def state_of(tensor: torch.Tensor) -> State | None:
    """The state of the storage of a tensor of a device; None on the host."""
    return getattr(storage_of(tensor), "state", None)


def adopted(value: Any) -> Any:
    """A result of torch; each tensor in it that has the memory of a device is given the class."""
    kind = type(value)
    if kind is torch.Tensor:
        if state_of(value) is not None:
            value.__class__ = SimulatedTensor
    elif isinstance(value, (tuple, list)):
        for item in value:
            adopted(item)
    return value


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the CPU with the memory of one of a device."""
    with apart(), internals.Disabled():
        return tensor.detach()


class _Mode:
    """The mode that sees the operations of a call of torch on tensors of a device, and of a backward pass.

    It is no `TorchDispatchMode`, whose calls torch would wrap for its compiler.
    """

    is_infra_mode = staticmethod(lambda: False)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # By identity, since torch computes their hashes in Python; torch keeps them.
        operation = _operations.get(id(func))
        if operation is None:
            operation = _operations[id(func)] = Operation(func)
        if operation.shares and not RACES.several:
            return adopted(operation.run(*args, **kwargs or {}))
        if sys._getframe(1).f_code is not _OF_CALL:
            where = place()
        elif CURRENT.place is None:
            where = CURRENT.place = place()
        else:
            where = CURRENT.place
        simple = operation.plain and not kwargs and not RACES.several
        if simple and type(args[0]) is SimulatedTensor and CURRENT.backward is not None:
            # Nothing of a backward pass comes from the host.
            stream = of_operation(0)
            stream.seq += 1
            return written_by(stream, operation.run(*args), where)
        return dispatch(operation, func, args, kwargs or {}, where)


MODE = _Mode()


def observed(func: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of torch with each of its operations seen; what it makes is on the device."""
    here, outer, before = CURRENT, CURRENT.call, CURRENT.place
    here.call, here.place = outer or (func, args, kwargs), None
    if outer is None:
        internals.push_mode(MODE)
    try:
        with internals.Disabled():
            return adopted(func(*args, **kwargs))
    finally:
        here.call, here.place = outer, before
        if outer is None:
            internals.pop_mode()


_OF_CALL = observed.__code__


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Have what is made meanwhile be where it is asked for."""
    outer, CURRENT.call = CURRENT.call, None
    on = outer is not None and internals.modes() > 0
    if on:
        internals.pop_mode()
    try:
        yield
    finally:
        CURRENT.call = outer
        if on:
            internals.push_mode(MODE)


def plain_call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of torch on tensors as its C++ sees them."""
    with internals.Disabled():
        return function(*args, **kwargs)


def _call_of(func: Any) -> Callable[[Any, Any, Any], Any]:
    """How a function of torch is called with tensors of a device among its arguments."""
    if own := OWN.get(func):
        return lambda func, args, kwargs: own(*args, **kwargs)
    if type(func) is MethodWrapperType or getattr(func, "__name__", "") in ASKING:
        return _asked
    operation = single(func)
    return observed if operation is None else functools.partial(_single_call, operation)


def _asked(func: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of torch that computes nothing."""
    with internals.Disabled():
        found = func(*args, **kwargs)
        return adopted(found) if type(found) is torch.Tensor else found


def _single_call(operation: Operation, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that is one operation; with one stream only, `dispatch` without the way there."""
    with internals.Disabled():
        takes = operation.tensors
        if not RACES.several and _fits(takes, enumerate(args)) and _fits(takes, kwargs.items()):
            out = func(*args, **kwargs)
            if operation.shares:
                return adopted(out)
            stream, where = of_operation(0), place(3)
            stream.seq += 1
            if operation.written and args and out is args[0]:
                state = storage_of(out).state
                state.write, state.reads = (stream, stream.seq, where), None
                return out
            if operation.written:
                _note_accesses(operation, (), args, kwargs, stream, where)
            return written_by(stream, out, where)
    return observed(func, args, kwargs)


def _fits(takes: set[int | str], arguments: Iterable[tuple[int | str, Any]]) -> bool:
    """Tell whether all tensors among arguments are on a device, and none is read by C++ as a number."""
    for at, value in arguments:
        kind = type(value)
        if kind in _PLAIN or (kind is SimulatedTensor and at in takes):
            continue
        if not isinstance(value, (list, tuple)) or not _fits(takes, zip(repeat(at), value)):
            return False
    return True


def written_by(stream: Stream, made: Any, where: Place) -> Any:
    """A result, with a state for each new storage: the last operation of a stream wrote it."""
    if isinstance(made, torch.Tensor):
        storage = storage_of(made)
        if not hasattr(storage, "state"):
            size = storage.nbytes()
            if made.layout is torch.sparse_coo:
                size += made._indices().untyped_storage().nbytes()
            storage.state = State(size, (stream, stream.seq, where))
        if type(made) is torch.Tensor:
            made.__class__ = SimulatedTensor
    elif isinstance(made, (list, tuple)):
        for item in made:
            written_by(stream, item, where)
    return made


def fresh(made: torch.Tensor, index: int) -> Any:
    """A new tensor of a device, written by the current stream."""
    stream = of_operation(index)
    queue(stream)
    return written_by(stream, made, place())


def read_by_host(tensor: SimulatedTensor, kind: str) -> torch.Tensor:
    """The values of a tensor, for which the host waits."""
    stream = of_operation(tensor.number)
    queue(stream)
    if RACES.several:
        RACES.access(tensor.state, stream, False, place())
    if tensor.numel():
        SYNCS.note(kind)
        host_waits(stream.known())
    return on_host(tensor)


def set_data(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Do as ``tensor.data = value`` does: the object stays, with another memory, maybe on another device."""
    plain_call(_DATA.__set__, tensor, value)
    made: Any = tensor
    on_device = state_of(tensor) is not None
    if on_device and not isinstance(tensor, SimulatedTensor):
        made._is_param = isinstance(tensor, torch.nn.Parameter)
        made.__class__ = SimulatedTensor
    elif not on_device and isinstance(tensor, SimulatedTensor):
        made.__class__ = torch.nn.Parameter if getattr(tensor, "_is_param", False) else torch.Tensor


_DATA: Any = torch.Tensor.data
data = property(lambda self: adopted(plain_call(_DATA.__get__, self)), set_data)


def _of_call() -> Iterator[Any]:
    """Give the arguments of the function of torch that the program called, and what is in them."""
    _, args, kwargs = CURRENT.call or (None, (), {})
    waiting = [*args, *kwargs.values()]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, (tuple, list)):
            waiting += value
        else:
            yield value


def _given_from_host(found: list[torch.Tensor]) -> bool:
    """Tell whether the program itself passed one of these tensors of the host to a function of torch.

    What torch's own code makes for its computations is on the right device on a GPU.
    """
    if CURRENT.backward is not None:
        return False
    theirs = {_memory(tensor) for tensor in found}
    return any(type(value) in _OF_HOST and _memory(value) in theirs for value in _of_call())


def _memory(tensor: torch.Tensor) -> int | None:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else None


def _wait(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any], stream: Stream) -> None:
    assert operation.wait is not None
    kind, asked = operation.wait["kind"], getattr((CURRENT.call or (None,))[0], "__name__", "")
    if asked == "one_hot":
        # Only its CPU kernel checks the classes.
        return
    if kind == "mask":
        SYNCS.note("copy to the device", from_host(operation, args))
    count = times(operation, args, kwargs)
    if operation.name == "_local_scalar_dense":
        kind = _ASKED.get(asked, kind)
    if count:
        SYNCS.note(kind, count)
        host_waits(stream.known())


def _sort(values: Iterable[Any], tensors: list[SimulatedTensor], of_host: list[torch.Tensor]) -> None:
    """Add the tensors among the arguments of an operation to a list, by where they are."""
    for value in values:
        kind = type(value)
        if kind is SimulatedTensor:
            tensors.append(value)
        elif kind in _PLAIN:
            pass
        elif isinstance(value, torch.Tensor):
            if isinstance(adopted(value), SimulatedTensor):
                tensors.append(value)  # type: ignore[arg-type]
            else:
                if isinstance(value, HostCopy):
                    value.arrived()
                if value.dim():
                    of_host.append(value)
        elif isinstance(value, (list, tuple)):
            _sort(value, tensors, of_host)


def dispatch(operation: Operation, func: Any, args: Any, kwargs: dict[str, Any], where: Place) -> Any:
    """Compute one operation on the CPU, and note what it would mean on a device."""
    tensors: list[SimulatedTensor] = []
    of_host: list[torch.Tensor] = []
    _sort(args, tensors, of_host)
    if kwargs:
        _sort(kwargs.values(), tensors, of_host)
    if not tensors:
        out = operation.run(*args, **kwargs)
        # What torch's own code makes is on the device of the arguments that it was given.
        given = (value.number for value in _of_call() if isinstance(value, SimulatedTensor))
        return fresh(out, next(given, 0)) if operation.makes else out
    index = tensors[0].number if RACES.several else 0
    stream = of_operation(index)
    if RACES.several:
        merge(stream.clock, HOST)
    stream.seq += 1
    if operation.name == "copy_":
        return _copy(operation, args, kwargs, where)
    if operation.check is not None and CURRENT.backward is None:
        operation.check(args)
    if of_host or RACES.several:
        others = [one.number for one in tensors[1:] if one.number != index and one.dim()]
        if others or (of_host and not operation.mixes and _given_from_host(of_host)):
            names = [f"cuda:{number}" for number in sorted({index, *others})] + ["cpu"]
            raise RuntimeError(f"{SAME_DEVICE.format(*names[:2])} (at {func})")
    if operation.name in _PUTTING and not isinstance(args[0], SimulatedTensor):
        SYNCS.note("copy to the host")
        host_waits(stream.known())
        return operation.run(*args, **kwargs)
    if operation.wait is not None:
        _wait(operation, args, kwargs, stream)
    if kwargs:
        # Both are of the result.
        kwargs |= {"device": _CPU} if kwargs.get("device") is not None else {}
        kwargs |= {"pin_memory": False} if kwargs.get("pin_memory") else {}
    out = operation.run(*args, **kwargs)
    if operation.written or RACES.several:
        _note_accesses(operation, tensors, args, kwargs, stream, where)
    if operation.name == "_pack_padded_sequence":
        # The sizes of the batches stay on the host.
        written_by(stream, out[0], where)
        return out
    return written_by(stream, out, where)


def _note_accesses(
    operation: Operation,
    tensors: Iterable[SimulatedTensor],
    args: Any,
    kwargs: Any,
    stream: Stream,
    where: Place,
) -> None:
    written = set()
    for position, name in operation.written:
        value = args[position] if position < len(args) else kwargs.get(name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, SimulatedTensor):
                written.add(item.state)
    for state in written:
        RACES.access(state, stream, True, where)
    if RACES.several and not operation.view:
        for state in {tensor.state for tensor in tensors} - written:
            RACES.access(state, stream, False, where)


def _copy(operation: Operation, args: Any, kwargs: Any, where: Place) -> Any:
    """``target.copy_(source)``, between host and device as well."""
    target, source = args[0], args[1]
    waits = not (kwargs.get("non_blocking") or (len(args) > 2 and args[2]))
    of_target = of_operation(target.number) if isinstance(target, SimulatedTensor) else None
    of_source = of_operation(source.number) if isinstance(source, SimulatedTensor) else None
    if of_target is not None and of_source is not None and of_target is not of_source:
        # Between two devices the current streams of both wait for each other.
        merge(of_target.clock, of_source.known())
        merge(of_source.clock, of_target.known())
    if of_source is not None:
        RACES.access(source.state, of_source, False, where)
    if of_target is not None:
        RACES.access(target.state, of_target, True, where)
        if of_source is None and waits and source.numel():
            SYNCS.note("copy to the device")
            host_waits(of_target.known())
    operation.run(*args, **kwargs)
    if of_source is not None and of_target is None and source.numel():
        # Without pinned memory there is nowhere to copy to in the background.
        if waits or not pinned(target):
            SYNCS.note("copy to the host")
            host_waits(of_source.known())
        elif target.is_floating_point():
            poison(target, of_source)
    return target
