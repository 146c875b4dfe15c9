"""Tensors of a simulated device: a tensor of the CPU inside, computed with by the CPU's kernels."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import MethodWrapperType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import internals
from .arrivals import HostCopy, pinned
from .operations import Operation, from_host, times
from .streams import CURRENT, HOST, RACES, State, Stream, host_waits, merge, of_operation, queue
from .syncs import SYNCS, Place, place

_Tensor: Any = torch.Tensor
_DispatchMode: Any = TorchDispatchMode
_CPU = torch.device("cpu")
# How the program asked for a number.
_ASKED = {"__bool__": "truth", "__float__": "item", "__int__": "item", "__index__": "index", "item": "item"}
_operations: dict[Any, Operation] = {}


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
        state: what is known of its storage.
    """

    on_host: torch.Tensor
    number: int
    state: State

    @staticmethod
    def __new__(cls, inner: torch.Tensor, index: int, state: State) -> SimulatedTensor:
        made: SimulatedTensor = internals.make_wrapper(cls, inner)
        made.on_host, made.number, made.state = inner, index, state
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if type(func) is MethodWrapperType:
            with internals.Disabled():
                return func(*args)
        ambient = AMBIENT
        outer = ambient.call
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

    @property
    def data(self) -> Any:
        return plain_call(_DATA.__get__, self)

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        take_over(self, value)

    def __tensor_flatten__(self) -> tuple[list[str], int]:
        return ["on_host"], self.number

    @staticmethod
    def __tensor_unflatten__(inside: Any, number: int, size: Any, stride: Any) -> SimulatedTensor:
        return fresh(inside["on_host"], number)

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


class _Mode(_DispatchMode):  # type: ignore[misc]
    """Sees what torch's own code makes while it works on tensors of a device."""

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


def apart() -> contextlib.AbstractContextManager[None]:
    """Have what is made meanwhile be where it is asked for."""
    return _apart() if AMBIENT.depth else contextlib.nullcontext()


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    depth, AMBIENT.depth = AMBIENT.depth, 0
    try:
        with internals.no_mode(MODE, depth):
            yield
    finally:
        AMBIENT.depth = depth


def plain_call(function: Any, *args: Any) -> Any:
    """Call a function of torch on tensors as its C++ sees them."""
    with internals.Disabled():
        return function(*args)


def fresh(inner: torch.Tensor, index: int, where: Place | None = None) -> SimulatedTensor:
    """A new tensor of a device, written by the current stream."""
    stream = of_operation(index)
    queue(stream)
    where = place() if where is None else where
    state = State(index, inner.untyped_storage().nbytes() if inner.layout is torch.strided else 0, where)
    state.write = (stream, stream.seq, where)
    return SimulatedTensor(inner, index, state)


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


def _different(func: Any, found: set[int], host: bool) -> RuntimeError:
    names = [f"cuda:{index}" for index in sorted(found)] + ["cpu"] * host
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{names[0]} and {names[1]}! (at {func})"
    )


def _given_from_host(found: list[torch.Tensor]) -> bool:
    """Whether the program itself passed one of these tensors of the host to the function of torch it called.

    What torch's own code makes for its computations is on the right device on a GPU.
    """
    call = AMBIENT.call
    if call is None or CURRENT.backward is not None:
        return False
    theirs = {_memory(tensor) for tensor in found if tensor.layout is torch.strided}
    waiting = [*call[1], *(call[2] or {}).values()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting += value
        elif type(value) in _OF_HOST and value.layout is torch.strided and _memory(value) in theirs:
            return True
    return False


def _index_of_call() -> int:
    """The device for a tensor that torch's own code makes: that of the arguments it was given."""
    waiting = list(AMBIENT.call[1]) if AMBIENT.call else []
    for value in waiting:
        if isinstance(value, SimulatedTensor):
            return value.number
        if isinstance(value, (tuple, list)):
            waiting += value
    return AMBIENT.index


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


_OF_HOST = (torch.Tensor, torch.nn.Parameter)


def _wait(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any], stream: Stream) -> None:
    wait = operation.wait
    assert wait is not None
    count = wait["times"] or times(operation.name, args, kwargs)
    if wait["kind"] == "mask":
        SYNCS.note("copy to the device", from_host(args))
    if not count:
        return
    kind = wait["kind"]
    if operation.name == "_local_scalar_dense" and AMBIENT.call is not None:
        kind = _ASKED.get(getattr(AMBIENT.call[0], "__name__", ""), kind)
    SYNCS.note(kind, count)
    host_waits(stream.known())


# A function inside of `dispatch` that calls itself would keep its arguments alive until the next collection.
def _inside(value: Any, tensors: list[SimulatedTensor], of_host: list[torch.Tensor]) -> Any:
    """An argument as the CPU's kernels take it; the tensors in it are added to the lists."""
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
    operation = _operations.get(func)
    if operation is None:
        operation = _operations[func] = Operation(func)
    tensors: list[SimulatedTensor] = []
    of_host: list[torch.Tensor] = []
    given = [_inside(value, tensors, of_host) for value in args]
    named = {key: _inside(value, tensors, of_host) for key, value in kwargs.items()} if kwargs else kwargs
    if not tensors:
        out = func(*given, **named)
        if operation.makes and AMBIENT.depth and isinstance(out, torch.Tensor):
            return fresh(out, _index_of_call())
        if operation.writes and len(operation.returned) == 1 and operation.returned[0] is not None:
            position, name = operation.returned[0]
            return args[position] if position < len(args) else kwargs[name]
        return out
    index = tensors[0].number
    where = place()
    stream = of_operation(index)
    if RACES.several:
        merge(stream.clock, HOST)
    stream.seq += 1
    if operation.name == "copy_":
        return _copy(func, args, kwargs, given, named, where)
    others = {tensor.number for tensor in tensors if tensor.number != index and tensor.on_host.dim()}
    host = bool(of_host)
    if others or (host and not operation.mixes and _given_from_host(of_host)):
        raise _different(func, {index, *others}, host and not others)
    if operation.wait is not None:
        _wait(operation, args, kwargs, stream)
    if "device" in named and named["device"] is not None:
        named["device"] = _CPU
    if named.get("pin_memory"):
        named["pin_memory"] = False
    out = func(*given, **named)
    if RACES.several and not operation.view:
        _accesses(operation, tensors, args, kwargs, stream, where)
    elif operation.writes:
        for tensor in _written(operation, args, kwargs):
            tensor.state.write = (stream, stream.seq, where)
    if operation.form:
        _take_form(func, operation, args, kwargs, out)
    return _outside(operation, out, args, kwargs, tensors, index, stream, where)


def _accesses(
    operation: Operation,
    tensors: list[SimulatedTensor],
    args: Any,
    kwargs: Any,
    stream: Stream,
    where: Place,
) -> None:
    written = (
        {id(tensor.state) for tensor in _written(operation, args, kwargs)} if operation.writes else set()
    )
    for state in {id(tensor.state): tensor.state for tensor in tensors}.values():
        RACES.access(state, stream, id(state) in written, where)


def _written(operation: Operation, args: Any, kwargs: Any) -> list[SimulatedTensor]:
    found: list[SimulatedTensor] = []
    for position, name in zip(operation.writes, operation.writes_named, strict=True):
        value = args[position] if position < len(args) else kwargs.get(name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, SimulatedTensor):
                found.append(item)
    return found


def _outside(
    operation: Operation,
    out: Any,
    args: Any,
    kwargs: Any,
    tensors: list[SimulatedTensor],
    index: int,
    stream: Stream,
    where: Place,
) -> Any:
    """The results as tensors of the device; those that an operation writes into are the arguments."""

    result = _Result(operation.view, tensors[0].state, index, stream, where)
    if operation.name == "_pack_padded_sequence":
        # The sizes of the batches stay on the host.
        return result.wrapped(out[0]), out[1]
    if not operation.writes:
        return result.wrapped(out)
    returned = operation.returned
    if len(returned) == 1 and returned[0] is not None:
        position, name = returned[0]
        return args[position] if position < len(args) else kwargs[name]
    if isinstance(out, (list, tuple)) and len(out) == len(returned):
        return type(out)(
            result.wrapped(value)
            if which is None
            else (args[which[0]] if which[0] < len(args) else kwargs[which[1]])
            for value, which in zip(out, returned, strict=True)
        )
    return result.wrapped(out)


@dataclass(slots=True)
class _Result:
    """What an operation gives: views of its first argument, or storages of their own."""

    view: bool
    state: State
    index: int
    stream: Stream
    where: Place

    def wrapped(self, value: Any) -> Any:
        """A result as a tensor of the device."""
        if isinstance(value, torch.Tensor):
            if self.view:
                return SimulatedTensor(value, self.index, self.state)
            strided = value.layout is torch.strided
            state = State(self.index, value.untyped_storage().nbytes() if strided else 0, self.where)
            state.write = (self.stream, self.stream.seq, self.where)
            return SimulatedTensor(value, self.index, state)
        if type(value) in (list, tuple):
            return type(value)([self.wrapped(item) for item in value])
        return value


def _take_form(func: Any, operation: Operation, args: Any, kwargs: Any, out: Any) -> None:
    internals.change_form(func, args, kwargs)
    if operation.name == "set_" and len(args) > 1 and isinstance(args[1], SimulatedTensor):
        args[0].state = args[1].state


def _copy(func: Any, args: Any, kwargs: Any, given: list[Any], named: Any, where: Place) -> Any:
    """``target.copy_(source)``, between host and device as well."""
    target, source = args[0], args[1]
    waits = not (named.get("non_blocking") or (len(given) > 2 and given[2]))
    to_device, from_device = isinstance(target, SimulatedTensor), isinstance(source, SimulatedTensor)
    if to_device:
        stream = of_operation(target.number)
        if RACES.several:
            if from_device:
                # Between two devices the current streams of both wait for each other.
                theirs = of_operation(source.number)
                merge(stream.clock, theirs.known())
                RACES.access(source.state, stream, False, where)
                merge(theirs.clock, stream.known())
            RACES.access(target.state, stream, True, where)
        else:
            target.state.write = (stream, stream.seq, where)
        if not from_device and waits and source.numel():
            SYNCS.note("copy to the device")
            host_waits(stream.known())
        func(*given, **named)
        return target
    stream = of_operation(source.number)
    if RACES.several:
        RACES.access(source.state, stream, False, where)
    func(*given, **named)
    if not source.numel():
        return target
    if waits or not pinned(target):
        # Without pinned memory there is nowhere to copy to in the background.
        SYNCS.note("copy to the host")
        host_waits(stream.known())
    return target
