"""Copies between the host and a device, files of tensors, and what else asks where a tensor is."""

from __future__ import annotations

import functools
import re
from collections import OrderedDict
from typing import Any

import torch

from . import internals
from .arrivals import HostCopy, mark_pinned, pinned, poison
from .streams import CURRENT, RACES, host_waits, merge, of_operation, queue
from .syncs import SYNCS, place
from .tensor import SimulatedTensor, adopted, apart, data, fresh, on_host, plain_call, read_by_host

Device = torch.device | str | int | None
_LEGACY = re.compile(r"torch\.cuda\.(\w+)Tensor")
_NAMES = ("Float", "Double", "Half", "BFloat16", "Bool", "Short", "Int", "Long")
_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name.lower()) for name in _NAMES}
_DTYPES |= {"Byte": torch.uint8, "Char": torch.int8}
_original: dict[str, Any] = {}
DEVICES = [1]


def device_index(device: Any) -> int | None:
    """The number of a simulated device, or None for one that is not; an error for one that isn't there."""
    if device is None:
        return None
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, int) and not isinstance(device, bool):
        device = torch.device("cuda", device)
    if not isinstance(device, torch.device) or device.type != "cuda":
        return None
    index = CURRENT.device if device.index is None else device.index
    if index >= DEVICES[0]:
        raise RuntimeError("CUDA error: invalid device ordinal")
    return index


class _Move(torch.autograd.Function):
    """A copy to another device, whose gradient is copied back."""

    @staticmethod
    def forward(ctx: Any, source: Any, index: Any, dtype: Any, non_blocking: bool, layout: Any) -> Any:
        ctx.index = source.number if isinstance(source, SimulatedTensor) else None
        ctx.dtype = source.dtype
        return copied(source, index, dtype, non_blocking, layout)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return copied(adopted(grads[0]), ctx.index, ctx.dtype, False, None), None, None, None, None


def copied(source: torch.Tensor, index: int | None, dtype: Any, non_blocking: bool, layout: Any) -> Any:
    """A copy of a tensor on a device, or with None on the host."""
    from_device = isinstance(source, SimulatedTensor)
    inner = source.arrived() if isinstance(source, HostCopy) else on_host(source)
    where = place()
    stream = of_operation(source.number if isinstance(source, SimulatedTensor) else index or 0)
    queue(stream)
    if isinstance(source, SimulatedTensor) and RACES.several:
        RACES.access(source.state, stream, False, where)
    form = torch.preserve_format if layout is None else layout
    with apart():
        values = _original["to"](inner, dtype=dtype or inner.dtype, copy=True, memory_format=form)
    if index is not None and from_device:
        # From one device to another both streams wait for each other, not the host.
        target = of_operation(index)
        merge(target.clock, stream.known())
        return fresh(values, index)
    if index is None and non_blocking:
        return HostCopy(values, (stream, stream.seq, where))
    made = values if index is None else fresh(values, index)
    if not non_blocking and inner.numel():
        # A sparse tensor is its indices and its values.
        SYNCS.note(f"copy to the {'host' if index is None else 'device'}", _PARTS.get(inner.layout, 1))
        host_waits(stream.known())
    return made


_PARTS = {torch.sparse_coo: 2, torch.sparse_csr: 3}


def move(source: torch.Tensor, index: int | None, dtype: Any, non_blocking: bool, layout: Any) -> Any:
    """`copied`, as a part of the graph where a gradient is needed."""
    if source.requires_grad and torch.is_grad_enabled():
        return _Move.apply(source, index, dtype, non_blocking, layout)  # type: ignore[no-untyped-call]
    return copied(source, index, dtype, non_blocking, layout)


def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """``Tensor.to``."""
    other = kwargs.get("other", args[0] if args else None)
    if isinstance(other, torch.Tensor):
        args, kwargs = (
            (other.device, other.dtype, *args[1:]),
            {k: v for k, v in kwargs.items() if k != "other"},
        )
    simulated = isinstance(self, SimulatedTensor)
    if not simulated and not isinstance(self, HostCopy) and not _names_device(args, kwargs):
        return _original["to"](self, *args, **kwargs)  # type: ignore[no-any-return]
    order = ["dtype", "non_blocking", "copy"]
    if args and not isinstance(args[0], torch.dtype):
        order.insert(0, "device")
    asked = {**dict(zip(order, args, strict=False)), **kwargs}
    device = asked.pop("device", None)
    here = self.number if isinstance(self, SimulatedTensor) else None
    index = here if device is None else device_index(device)
    if index == here:
        same = {name: value for name, value in asked.items() if value is not None}
        if not simulated:
            return _original["to"](self, **same) if same else self
        if (
            not same.get("copy")
            and same.get("dtype", self.dtype) == self.dtype
            and "memory_format" not in same
        ):
            return self
        return _as_torch("to", self, **same)  # type: ignore[no-any-return]
    non_blocking, form = bool(asked.get("non_blocking")), asked.get("memory_format")
    return move(self, index, asked.get("dtype"), non_blocking, form)  # type: ignore[no-any-return]


def _as_torch(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method of torch's own on tensors of a device."""
    return SimulatedTensor.__torch_function__(_original[name], (), args, kwargs)


def _names_device(args: Any, kwargs: Any) -> bool:
    """Look for a simulated device among the arguments, which nearly never have one for CPU tensors."""
    given = kwargs.get("device", args[0] if args else None)
    if isinstance(given, torch.device):
        return given.type == "cuda"
    return (isinstance(given, str) and given.startswith("cuda")) or type(given) is int


def cpu(self: torch.Tensor, memory_format: Any = None) -> torch.Tensor:
    """``Tensor.cpu``."""
    if isinstance(self, SimulatedTensor):
        return move(self, None, None, False, memory_format)  # type: ignore[no-any-return]
    return _original["cpu"](self)  # type: ignore[no-any-return]


def cuda(
    self: torch.Tensor, device: Device = None, non_blocking: bool = False, memory_format: Any = None
) -> torch.Tensor:
    """``Tensor.cuda``."""
    index = device_index("cuda" if device is None else device)
    if isinstance(self, SimulatedTensor) and self.number == index:
        return self
    return move(self, index, None, non_blocking, memory_format)  # type: ignore[no-any-return]


def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """``Tensor.type``."""
    simulated = isinstance(self, SimulatedTensor)
    if dtype is None:
        name: str = _original["type"](on_host(self))
        return name.replace("torch.", "torch.cuda.") if simulated else name
    wanted = getattr(dtype, "simulated_name", dtype)
    if isinstance(wanted, str):
        legacy = _LEGACY.fullmatch(wanted)
        if legacy:
            return to(self, torch.device("cuda", CURRENT.device), _DTYPES[legacy[1]], non_blocking)
        if simulated:
            return to(self, "cpu", _DTYPES[wanted.removeprefix("torch.").removesuffix("Tensor")])
    return self.to(dtype) if simulated else _original["type"](self, dtype, non_blocking, **kwargs)


def numpy(self: torch.Tensor, *, force: bool = False) -> Any:
    """``Tensor.numpy``, which a device refuses."""
    if isinstance(self, SimulatedTensor):
        if force:
            return cpu(self.detach()).numpy()
        raise _no_numpy(self)
    return _original["numpy"](self, force=force)


def _no_numpy(tensor: SimulatedTensor) -> TypeError:
    return TypeError(
        f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
        "host memory first."
    )


def array(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``numpy.asarray(tensor)``."""
    if isinstance(self, SimulatedTensor):
        raise _no_numpy(self)
    return _original["__array__"](self, dtype, *args, **kwargs)


def tolist(self: torch.Tensor) -> Any:
    """``Tensor.tolist``."""
    if isinstance(self, SimulatedTensor):
        return read_by_host(self, "tolist").tolist()
    return _original["tolist"](self)


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """``Tensor.pin_memory``."""
    if isinstance(self, SimulatedTensor):
        raise RuntimeError(f"cannot pin '{type_(self)}' only dense CPU tensors can be pinned")
    if self.layout is not torch.strided or pinned(self):
        return self
    return mark_pinned(self.detach().clone())


def copy_(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """``Tensor.copy_``; what a ``non_blocking`` copy fills on the host is unusable until the host waits."""
    if not isinstance(self, SimulatedTensor) and not isinstance(source, SimulatedTensor):
        return _original["copy_"](self, source, non_blocking)  # type: ignore[no-any-return]
    _as_torch("copy_", self, source, non_blocking)
    if (
        non_blocking
        and isinstance(source, SimulatedTensor)
        and type(self) is torch.Tensor
        and pinned(self)
        and self.is_floating_point()
    ):
        stream = of_operation(source.number)
        poison(self.detach(), stream, stream.seq)
    return self


def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    """``one_hot``, which on a device looks at values only for the number of classes."""
    if num_classes == -1 and isinstance(tensor, SimulatedTensor) and tensor.numel():
        num_classes = int(tensor.max()) + 1
    return _original["one_hot"](tensor, num_classes)  # type: ignore[no-any-return]


def representation(self: SimulatedTensor, *, tensor_contents: Any = None) -> str:
    """A tensor as text, for which its values are copied to the host."""
    text = repr(read_by_host(self, "print"))
    head, mark, tail = text[:-1].rpartition(", dtype=")
    text = f"{head}, device='{self.device}'{mark}{tail})" if mark else f"{text[:-1]}, device='{self.device}')"
    if self.grad_fn is not None:
        text = f"{text[:-1]}, grad_fn=<{self.grad_fn.name().removesuffix('()')}>)"
    elif self.requires_grad:
        text = f"{text[:-1]}, requires_grad=True)"
    return f"Parameter containing:\n{text}" if getattr(self, "_is_param", False) else text


def formatted(self: torch.Tensor, spec: str) -> str:
    """``f"{tensor:.3f}"``."""
    return self.item().__format__(spec) if self.dim() == 0 else object.__format__(self, spec)


def duplicate(self: SimulatedTensor, memo: dict[int, Any]) -> SimulatedTensor:
    """``copy.deepcopy``: a tensor of its own on the same device."""
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            "moment."
        )
    made: SimulatedTensor = fresh(on_host(self).clone(memory_format=torch.preserve_format), self.number)
    made.__dict__.update(self.__dict__)
    made.requires_grad_(self.requires_grad)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = duplicate(self.grad, memo)
    return made


def reduced(self: SimulatedTensor, protocol: Any) -> Any:
    """Have a file hold the tensor as one of a device, as on a GPU, for which it is copied to the host."""
    if getattr(self, "_is_param", False):
        return torch._utils._rebuild_parameter, (self.data, self.requires_grad, OrderedDict())
    plain = read_by_host(self, "save").requires_grad_(self.requires_grad)
    return plain_call(plain.__reduce_ex__, protocol)


def _tag(storage: Any) -> str | None:
    state = getattr(storage, "state", None)
    return None if state is None else f"cuda:{state.index}"


def _located(storage: Any, location: str) -> Any:
    if not location.startswith("cuda"):
        return None
    SYNCS.note("copy to the device")
    fresh(torch.empty(0, dtype=torch.uint8).set_(storage), device_index(location) or 0)
    return storage


def install(constructors: list[str]) -> None:
    """Replace what moves tensors or asks where they are."""
    methods = {
        "to": to,
        "cpu": cpu,
        "cuda": cuda,
        "type": type_,
        "numpy": numpy,
        "tolist": tolist,
        "__array__": array,
        "pin_memory": pin_memory,
        "copy_": copy_,
    }
    whole: Any = torch.Tensor
    for name, method in methods.items():
        _original[name] = getattr(whole, name)
        setattr(whole, name, method)
    _original["is_pinned"] = whole.is_pinned
    whole.is_pinned = lambda self, device=None: pinned(self)
    whole.data = data
    functional: Any = torch.nn.functional
    _original["one_hot"], functional.one_hot = functional.one_hot, one_hot
    device: Any = SimulatedTensor
    device.__repr__, device.__format__ = representation, formatted
    device.__deepcopy__, device.__reduce_ex__ = duplicate, reduced
    torch.serialization.register_package(5, _tag, _located)
    internals.rebuilt_tensors_pass(adopted)
    internals.adopt_wrapped(adopted)
    internals.groups_by_device(lambda t: t.device if isinstance(t, SimulatedTensor) else None)
    for name in constructors:
        setattr(torch, name, _constructor(name, getattr(torch, name)))
    for name in ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor", "new_empty_strided"):
        setattr(whole, name, _new(getattr(whole, name)))


# What comes from Python is made on the host, then copied.
_COPYING = {"tensor", "as_tensor", "asarray", "new_tensor"}


def _placed(made: torch.Tensor, name: str, index: int | None, needs: bool) -> torch.Tensor:
    """Have a tensor that a function made on the host be on a device, unless ``index`` is None."""
    if index is not None:
        made = copied(made, index, None, False, None) if name in _COPYING else fresh(made, index)
    return made.requires_grad_(True) if needs else made


def _constructor(name: str, original: Any) -> Any:
    """A function such as ``torch.zeros``, on a simulated device where one is asked for."""
    like = name.endswith("_like")

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else None
        wanted = kwargs.get("device")
        if wanted is None:
            if like and isinstance(first, SimulatedTensor):
                return original(*args, **kwargs)
            wanted = internals.default_device()
        index = device_index(wanted)
        if isinstance(first, torch.Tensor) and name in ("as_tensor", "asarray"):
            return original(*args, **kwargs) if wanted is None else to(first, wanted, kwargs.get("dtype"))
        if args and name in _COPYING:
            args = (_read(first, kwargs), *args[1:])
        elif like and isinstance(first, SimulatedTensor):
            args = (on_host(first), *args[1:])
        _check_generator(kwargs.get("generator"), index)
        pin = kwargs.pop("pin_memory", False)
        if index is not None:
            kwargs["device"] = "cpu"
            if kwargs.get("out") is not None:
                del kwargs["device"]
                return original(*args, **kwargs)
        needs = kwargs.pop("requires_grad", False)
        with apart():
            made = original(*args, **kwargs)
        return mark_pinned(made) if pin and index is None else _placed(made, name, index, needs)

    return make


def _read(data: Any, kwargs: dict[str, Any]) -> Any:
    """The data that ``torch.tensor`` is given, with tensors of a device in it as numbers: each is read."""
    if isinstance(data, SimulatedTensor):
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = data.dtype
        return data.tolist()
    if isinstance(data, (list, tuple)) and any(isinstance(x, (list, tuple, SimulatedTensor)) for x in data):
        return [_read(item, kwargs) for item in data]
    return data


def _check_generator(generator: Any, index: int | None) -> None:
    if generator is None:
        return
    theirs = generator.device.type
    wanted = "cpu" if index is None else "cuda"
    if theirs != wanted:
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{theirs}'")


def _new(original: Any) -> Any:
    """A method such as ``tensor.new_zeros``, on the device of the tensor or the one that is asked for."""

    @functools.wraps(original)
    def make(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        given = kwargs.pop("device", None)
        here = self.number if isinstance(self, SimulatedTensor) else None
        index = here if given is None else device_index(given)
        if here is None and index is None:
            return original(self, *args, **kwargs)
        needs = kwargs.pop("requires_grad", False)
        with apart():
            made = original(on_host(self), *args, **kwargs)
        return _placed(made, original.__name__, index, needs)

    return make
