"""Tensors of a simulated device: a tensor of the CPU inside, computed with by the CPU's kernels."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import MethodWrapperType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import internals
from .arrivals import HostCopy, pinned
from .operations import Operation, argument, from_host, times
from .streams import CURRENT, HOST, RACES, State, Stream, host_waits, merge, of_operation, queue
from .syncs import SYNCS, Place, place

_Tensor: Any = torch.Tensor
_DispatchMode: Any = TorchDispatchMode
_CPU = torch.device("cpu")
# How the program asked for a number.
_ASKED = {"__bool__": "truth", "__float__": "item", "__int__": "item", "__index__": "index", "item": "item"}
_PLAIN = frozenset({int, float, bool, type(None), torch.dtype, torch.layout, torch.memory_format, str})
_operations: dict[int, Operation] = {}


class _Ambient(threading.local):
    """The call of torch with a tensor of a device among its arguments that this thread is in."""

    def __init__(self) -> None:
        self.depth = 0
        self.index = 0
        self.call: tuple[Any, Any, Any] | None = None


AMBIENT = _Ambient()


class SimulatedTensor(_Tensor):  # type: ignore[misc]
    """A tensor that says ``cuda:0``.

    Attributes:
        on_host: the tensor of the CPU that has its values.
        number: that of the device.
        state: the state of its storage.
    """

    on_host: torch.Tensor
    number: int
    state: State

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if type(func) is MethodWrapperType:
            return plain_call(func, *args)
        ambient, outer = AMBIENT, AMBIENT.call
        if ambient.depth:
            ambient.call = outer or (func, args, kwargs)
            with internals.Disabled():
                return func(*args, **kwargs or {})
        ambient.call = (func, args, kwargs)
        internals.push_mode(MODE)
        ambient.depth = 1
        try:
            with internals.Disabled():
                return func(*args, **kwargs or {})
        finally:
            ambient.depth = 0
            ambient.call = outer
            internals.pop_mode()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(func, args, kwargs or {})

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.number)

    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)
    data = property(lambda self: plain_call(_DATA.__get__, self), lambda self, value: take_over(self, value))

    def get_device(self) -> int:
        return self.number

    def data_ptr(self) -> int:
        return self.on_host.data_ptr()

    def untyped_storage(self) -> Any:
        return self.on_host.untyped_storage()

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def record_stream(self, stream: Any) -> None:
        if isinstance(stream, Stream):
            self.state.recorded = {*(self.state.recorded or ()), stream.number}

    def __len__(self) -> int:
        if not self.on_host.dim():
            raise TypeError("len() of a 0-d tensor")
        return self.on_host.shape[0]


def wrapped(inner: torch.Tensor, index: int, state: State) -> SimulatedTensor:
    """A tensor of a device around one of the CPU."""
    made: SimulatedTensor = internals.make_wrapper(SimulatedTensor, inner)
    made.on_host, made.number, made.state = inner, index, state
    return made


class _Mode(_DispatchMode):  # type: ignore[misc]
    """The mode that sees what torch's own code makes while it works on tensors of a device."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Nothing is compiled here; torch would wrap each call below.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(func, args, kwargs or {})


MODE = _Mode()


@contextlib.contextmanager
def ambient(index: int = 0) -> Iterator[None]:
    """Have everything that torch makes meanwhile be on a device: a backward pass."""
    if AMBIENT.depth:
        yield
        return
    internals.push_mode(MODE)
    AMBIENT.depth, before = 1, AMBIENT.index
    AMBIENT.index = index
    try:
        yield
    finally:
        AMBIENT.depth, AMBIENT.index = 0, before
        internals.pop_mode()


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Have what is made meanwhile be where it is asked for."""
    depth, AMBIENT.depth = AMBIENT.depth, 0
    if depth:
        internals.pop_mode()
    try:
        yield
    finally:
        AMBIENT.depth = depth
        if depth:
            internals.push_mode(MODE)


def plain_call(function: Any, *args: Any) -> Any:
    """Call a function of torch on tensors as its C++ sees them."""
    with internals.Disabled():
        return function(*args)


def written_by(stream: Stream, inner: torch.Tensor, index: int, where: Place) -> SimulatedTensor:
    """A tensor of a device with a storage of its own, which the last operation of a stream has written."""
    if inner.layout is torch.strided:
        size = inner.untyped_storage().nbytes()
    else:
        parts = (inner._indices(), inner._values()) if inner.layout is torch.sparse_coo else ()
        size = sum(part.untyped_storage().nbytes() for part in parts)
    state = State(index, size, where)
    state.write = (stream, stream.seq, where)
    return wrapped(inner, index, state)


def fresh(inner: torch.Tensor, index: int, where: Place | None = None) -> SimulatedTensor:
    """A new tensor of a device, written by the current stream."""
    stream = of_operation(index)
    queue(stream)
    return written_by(stream, inner, index, place() if where is None else where)


def read_by_host(tensor: SimulatedTensor, kind: str) -> torch.Tensor:
    """The values of a tensor, for which the host waits."""
    stream = of_operation(tensor.number)
    queue(stream)
    if RACES.several:
        RACES.access(tensor.state, stream, False, place())
    if tensor.numel():
        SYNCS.note(kind)
        host_waits(stream.known())
    return tensor.on_host


def take_over(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Do as ``tensor.data = value`` does: the object stays, with another memory."""
    if not isinstance(tensor, SimulatedTensor) and not isinstance(value, SimulatedTensor):
        plain_call(_DATA.__set__, tensor, value)
        return
    needs, grad = tensor.requires_grad, tensor.grad
    is_parameter = getattr(tensor, "_is_param", False) or isinstance(tensor, torch.nn.Parameter)
    made = value.detach()
    if is_parameter and isinstance(made, SimulatedTensor):
        made._is_param = True
    elif is_parameter:
        made = torch.nn.Parameter(made, requires_grad=False)
    if tensor.is_leaf and made.is_leaf:
        tensor.grad = None
        internals.swap(tensor, made)
        tensor.requires_grad_(needs)
        tensor.grad = grad
    elif isinstance(tensor, SimulatedTensor) and isinstance(value, SimulatedTensor):
        tensor.on_host, tensor.number, tensor.state = value.on_host, value.number, value.state


_DATA: Any = torch.Tensor.data


def _of_call() -> Iterator[Any]:
    """Give the arguments of the function of torch that the program called, and what is in them."""
    waiting = [*AMBIENT.call[1], *(AMBIENT.call[2] or {}).values()] if AMBIENT.call else []
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


_OF_HOST = (torch.Tensor, torch.nn.Parameter)


def _wait(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any], stream: Stream) -> None:
    assert operation.wait is not None
    kind = operation.wait["kind"]
    if kind == "mask":
        SYNCS.note("copy to the device", from_host(args))
    count = times(operation, args, kwargs)
    if operation.name == "_local_scalar_dense" and AMBIENT.call is not None:
        kind = _ASKED.get(getattr(AMBIENT.call[0], "__name__", ""), kind)
    if count:
        SYNCS.note(kind, count)
        host_waits(stream.known())


# A function inside of `dispatch` that calls itself would keep its arguments alive until the next collection.
def _inside(value: Any, tensors: list[SimulatedTensor], of_host: list[torch.Tensor]) -> Any:
    """An argument as the CPU's kernels take it; the tensors in it are added to the lists."""
    kind = type(value)
    if kind is SimulatedTensor:
        tensors.append(value)
        return value.on_host
    if kind in _PLAIN:
        return value
    if isinstance(value, torch.Tensor):
        if isinstance(value, SimulatedTensor):
            tensors.append(value)
            return value.on_host
        if isinstance(value, HostCopy):
            return value.arrived()
        if value.dim():
            of_host.append(value)
        return value
    if isinstance(value, (list, tuple)) and value:
        return type(value)([_inside(item, tensors, of_host) for item in value])
    return value


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute one operation on the CPU, and note what it would mean on a device."""
    # By identity, since torch computes their hashes in Python; torch keeps them.
    operation = _operations.get(id(func))
    if operation is None:
        operation = _operations[id(func)] = Operation(func)
    tensors: list[SimulatedTensor] = []
    of_host: list[torch.Tensor] = []
    given = [_inside(value, tensors, of_host) for value in args]
    named = {key: _inside(value, tensors, of_host) for key, value in kwargs.items()} if kwargs else kwargs
    if not tensors:
        out = operation.run(*given, **named)
        if operation.makes and AMBIENT.depth and isinstance(out, torch.Tensor):
            # What torch's own code makes is on the device of the arguments that it was given.
            of_call = (value.number for value in _of_call() if isinstance(value, SimulatedTensor))
            return fresh(out, next(of_call, AMBIENT.index))
        if len(operation.returned) == 1 and operation.returned[0] is not None:
            return argument(args, kwargs, operation.returned[0])
        return out
    index = tensors[0].number
    where = place()
    stream = of_operation(index)
    if RACES.several:
        merge(stream.clock, HOST)
    stream.seq += 1
    if operation.name == "copy_":
        return _copy(func, args, given, named, where)
    others = [one.number for one in tensors[1:] if one.number != index and one.on_host.dim()]
    if others or (of_host and not operation.mixes and _given_from_host(of_host)):
        names = [f"cuda:{number}" for number in sorted({index, *others})] + ["cpu"]
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{names[0]} and {names[1]}! (at {func})"
        )
    if operation.wait is not None:
        _wait(operation, args, kwargs, stream)
    if kwargs:
        # Both are of the result.
        named |= {"device": _CPU} if named.get("device") is not None else {}
        named |= {"pin_memory": False} if named.get("pin_memory") else {}
    out = operation.run(*given, **named)
    if operation.written or (RACES.several and not operation.view):
        _note_accesses(operation, tensors, args, kwargs, stream, where)
    if operation.form:
        internals.change_form(func, args, kwargs)
        if operation.name == "set_" and len(args) > 1 and isinstance(args[1], SimulatedTensor):
            args[0].state = args[1].state
    if operation.name == "_pack_padded_sequence":
        # The sizes of the batches stay on the host.
        return written_by(stream, out[0], index, where), out[1]
    view_of = tensors[0].state if operation.view else None
    if len(operation.returned) == 1 and operation.returned[0] is not None:
        return argument(args, kwargs, operation.returned[0])
    if operation.written and isinstance(out, (list, tuple)):
        # Results that an operation writes into are the arguments.
        return type(out)(
            argument(args, kwargs, which) if which else _outside(value, view_of, index, stream, where)
            for value, which in zip(out, operation.returned, strict=True)
        )
    return _outside(out, view_of, index, stream, where)


def _note_accesses(
    operation: Operation, tensors: list[SimulatedTensor], args: Any, kwargs: Any, stream: Stream, where: Place
) -> None:
    written = set()
    for which in operation.written:
        value = argument(args, kwargs, which)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, SimulatedTensor):
                written.add(id(item.state))
                if not RACES.several:
                    item.state.write = (stream, stream.seq, where)
    if RACES.several:
        for state in {id(tensor.state): tensor.state for tensor in tensors}.values():
            RACES.access(state, stream, id(state) in written, where)


def _outside(value: Any, view_of: State | None, index: int, stream: Stream, where: Place) -> Any:
    """A result as a tensor of the device: with the storage that it is a view of, or with its own."""
    if isinstance(value, torch.Tensor):
        if view_of is not None:
            return wrapped(value, index, view_of)
        return written_by(stream, value, index, where)
    if type(value) in (list, tuple):
        return type(value)([_outside(item, view_of, index, stream, where) for item in value])
    return value


def _copy(func: Any, args: Any, given: list[Any], named: Any, where: Place) -> Any:
    """``target.copy_(source)``, between host and device as well."""
    target, source = args[0], args[1]
    waits = not (named.get("non_blocking") or (len(given) > 2 and given[2]))
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
    func(*given, **named)
    # Without pinned memory there is nowhere to copy to in the background.
    if of_source is not None and of_target is None and source.numel() and (waits or not pinned(target)):
        SYNCS.note("copy to the host")
        host_waits(of_source.known())
    return target
