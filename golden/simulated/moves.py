"""Copies between the host and a device, files of tensors, and what else asks where a tensor is."""

from __future__ import annotations

import copy
import re
from types import SimpleNamespace
from typing import Any

import torch

from . import internals
from .answers import not_simulated
from .arrivals import HostCopy, filling, mark_pinned, pinned
from .mistakes import set_gradient
from .streams import RACES, device_index, host_waits, merge, of_operation, queue
from .syncs import SYNCS, place
from .tensor import (
    OWN,
    SimulatedTensor,
    adopted,
    apart,
    data,
    fresh,
    observed,
    on_host,
    plain_call,
    read_by_host,
)

LEGACY = re.compile(r"torch\.cuda\.(\w+)Tensor")
_NAMES = ("Float", "Double", "Half", "BFloat16", "Bool", "Short", "Int", "Long")
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name.lower()) for name in _NAMES}
DTYPES |= {"Byte": torch.uint8, "Char": torch.int8}
# The tensors that one of a layout consists of.
_PARTS = {torch.sparse_coo: 2, torch.sparse_csr: 3}
_padded: Any = torch._VF._pad_packed_sequence
_to: Any = torch.Tensor.to
_type: Any = torch.Tensor.type


def number_of(tensor: Any) -> int | None:
    """The number of the device of a tensor; None on the host."""
    return tensor.number if isinstance(tensor, SimulatedTensor) else None


class _Move(torch.autograd.Function):
    """A copy to another device, whose gradient is copied back."""

    @staticmethod
    def forward(ctx: Any, source: Any, index: Any, dtype: Any, non_blocking: bool, layout: Any) -> Any:
        ctx.index, ctx.dtype = number_of(source), source.dtype
        return copied(source, index, dtype, non_blocking, layout)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return copied(adopted(grads[0]), ctx.index, ctx.dtype), None, None, None, None


def copied(
    source: torch.Tensor, index: int | None, dtype: Any = None, non_blocking: bool = False, layout: Any = None
) -> Any:
    """A copy of a tensor on a device, or with None on the host."""
    here = number_of(source)
    inner = source.arrived() if isinstance(source, HostCopy) else on_host(source)
    stream = of_operation(index or 0 if here is None else here)
    queue(stream)
    if isinstance(source, SimulatedTensor) and RACES.several:
        RACES.access(source.state, stream, False, place())
    form = torch.preserve_format if layout is None else layout
    with apart():
        values = _to(inner, dtype=dtype or inner.dtype, copy=True, memory_format=form)
    if index is not None and here is not None:
        # From one device to another both streams wait for each other, not the host.
        merge(of_operation(index).clock, stream.known())
        return fresh(values, index)
    if index is None and non_blocking:
        return filling(values, (stream, stream.seq, place()))
    made = values if index is None else fresh(values, index)
    if not non_blocking and inner.numel():
        SYNCS.note(f"copy to the {'host' if index is None else 'device'}", _PARTS.get(inner.layout, 1))
        host_waits(stream.known())
    return made


def move(source: torch.Tensor, index: int | None, *how: Any) -> Any:
    """`copied`, as a part of the graph where a gradient is needed."""
    if source.requires_grad and torch.is_grad_enabled():
        return _Move.apply(source, index, *how)  # type: ignore[no-untyped-call]
    return copied(source, index, *how)


def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """``Tensor.to``."""
    other = kwargs.pop("other", args[0] if args else None)
    if isinstance(other, torch.Tensor):
        args, kwargs = (other.device, *args[1:]), {"dtype": other.dtype, **kwargs}
    order = ["dtype", "non_blocking", "copy"]
    if args and not isinstance(args[0], torch.dtype):
        order.insert(0, "device")
    asked = {**dict(zip(order, args, strict=False)), **kwargs}
    here, wanted = number_of(self), asked.pop("device", None)
    index = here if wanted is None else device_index(wanted)
    if index != here:
        non_blocking, form = bool(asked.get("non_blocking")), asked.get("memory_format")
        return move(self, index, asked.get("dtype"), non_blocking, form)
    asked = {name: value for name, value in asked.items() if value is not None}
    if here is None:
        return _to(self, wanted, **asked) if wanted is not None else _to(self, **asked) if asked else self
    changed = asked.get("copy") or "memory_format" in asked or asked.get("dtype", self.dtype) != self.dtype
    return _to(self, **asked) if changed else self


def cuda(self: torch.Tensor, device: Any = None, *how: Any, **named: Any) -> Any:
    """``Tensor.cuda``."""
    return to(self, "cuda" if device is None else device, None, *how, **named)


def type_(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """``Tensor.type``."""
    simulated = isinstance(self, SimulatedTensor)
    if dtype is None:
        name: str = _type(on_host(self))
        return name.replace("torch.", "torch.cuda.") if simulated else name
    wanted = getattr(dtype, "simulated_name", dtype)
    legacy = LEGACY.fullmatch(wanted) if isinstance(wanted, str) else None
    if legacy:
        return to(self, "cuda", DTYPES[legacy[1]], non_blocking)
    if simulated and isinstance(wanted, str):
        return to(self, "cpu", DTYPES[wanted.removeprefix("torch.").removesuffix("Tensor")])
    return to(self, dtype) if simulated else _type(self, dtype, non_blocking, **kwargs)


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """``Tensor.pin_memory``."""
    if isinstance(self, SimulatedTensor):
        raise RuntimeError(f"cannot pin '{type_(self)}' only dense CPU tensors can be pinned")
    if self.layout is not torch.strided or pinned(self):
        return self
    return mark_pinned(self.detach().clone())


def cpu(self: SimulatedTensor, memory_format: Any = None) -> Any:
    """``Tensor.cpu``."""
    return move(self, None, None, False, memory_format)


def numpy(self: SimulatedTensor, *args: Any, force: bool = False, **kwargs: Any) -> Any:
    """``Tensor.numpy`` and ``numpy.asarray(tensor)``, which a device refuses."""
    if force:
        return cpu(self.detach()).numpy()
    raise TypeError(
        f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
        "host memory first."
    )


def tolist(self: SimulatedTensor) -> Any:
    """``Tensor.tolist``."""
    return read_by_host(self, "tolist").tolist()


def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> Any:
    """``one_hot``, which on a device looks at values only for the number of classes."""
    if num_classes == -1 and tensor.numel():
        num_classes = int(tensor.max()) + 1
    return plain_call(_one_hot, tensor, num_classes)


_one_hot: Any = torch.nn.functional.one_hot


def padded(*args: Any, **kwargs: Any) -> tuple[Any, torch.Tensor]:
    """``_pad_packed_sequence``, which gives the lengths on the host."""
    values, lengths = observed(_padded, args, kwargs)
    return values, on_host(lengths).clone()


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


def formatted(self: SimulatedTensor, spec: str) -> str:
    """``f"{tensor:.3f}"``."""
    return self.item().__format__(spec) if self.dim() == 0 else object.__format__(self, spec)


def duplicate(self: SimulatedTensor, memo: dict[Any, Any]) -> Any:
    """``copy.deepcopy``: a tensor of its own on the same device."""
    if id(self) in memo or not self.is_leaf:
        # Which torch refuses.
        return plain_call(torch.Tensor.__deepcopy__, self, memo)
    plain: Any = on_host(self)
    is_param = getattr(self, "_is_param", False)
    # Tensors that share their memory have copies that do; a parameter's is its own.
    copies = memo.setdefault("simulated", {})
    values = plain.clone(memory_format=torch.preserve_format) if is_param else plain.__deepcopy__(copies)
    copies.pop(id(plain), None)
    memo[id(self)] = made = fresh(values, self.number)
    made.__dict__ = {"_is_param": True} if is_param else copy.deepcopy(self.__dict__, memo)
    made.requires_grad_(self.requires_grad)
    if self.grad is not None and not is_param:
        made.grad = duplicate(self.grad, memo)
    return made


def reduced(self: SimulatedTensor, protocol: Any) -> Any:
    """Have a file hold the tensor as one of a device, as on a GPU, for which it is copied to the host."""
    is_param = getattr(self, "_is_param", False)
    # A parameter's values are saved as a tensor of their own.
    plain: Any = on_host(self) if is_param else read_by_host(self, "save")
    plain.requires_grad_(self.requires_grad)
    plain.__dict__.update(self.__dict__)
    plain.__dict__.pop("_is_param", None)
    plain.__class__ = torch.nn.Parameter if is_param else torch.Tensor
    return plain_call(plain.__reduce_ex__, protocol)


def _tag(storage: Any) -> str | None:
    state = getattr(storage, "state", None)
    return None if state is None else str(state.made[0].device)


def _located(storage: Any, location: str) -> Any:
    if not location.startswith("cuda"):
        return None
    SYNCS.note("copy to the device")
    fresh(torch.empty(0, dtype=torch.uint8).set_(storage), device_index(location) or 0)
    return storage


def _storage_cuda(self: Any, device: Any = None, **_: Any) -> Any:
    """``UntypedStorage.cuda``."""
    return _located(self.clone(), f"cuda:{device_index('cuda' if device is None else device)}")


def _scatter(devices: list[int], sizes: Any, dim: int, tensor: torch.Tensor) -> tuple[Any]:
    """A tensor as ``DataParallel`` gives it to the one device that there is."""
    if len(devices) > 1:
        raise RuntimeError(not_simulated("torch.nn.DataParallel on several devices"))
    return (to(tensor, devices[0], non_blocking=True),)


def _storage_resize(self: Any, size: int) -> Any:
    """``UntypedStorage.resize_``."""
    _resize(self, size)
    if hasattr(self, "state"):
        self.state.resize(size)
    return self


_resize: Any = torch.UntypedStorage.resize_


def _without_mode(func: Any) -> Any:
    """A function of torch that takes another way, to other bits, where its operations are observed."""

    def call(matrix: SimulatedTensor, *args: Any, **kwargs: Any) -> Any:
        read_by_host(matrix, "linalg")
        return fresh(plain_call(func, matrix, *args, **kwargs), matrix.number)

    return call


def install() -> None:
    """Replace what moves tensors or asks where they are."""
    whole: Any = torch.Tensor
    of_device = {
        "cpu": cpu,
        "numpy": numpy,
        "tolist": tolist,
        "__array__": numpy,
        "__repr__": representation,
        "__format__": formatted,
        "__deepcopy__": duplicate,
        "__reduce_ex__": reduced,
    }
    for name, method in of_device.items():
        # Found by the class, and by the function where that is called.
        OWN[getattr(whole, name)] = method
        setattr(SimulatedTensor, name, method)
    OWN[whole.grad.__set__], OWN[_padded] = set_gradient, padded
    OWN[_one_hot], OWN[whole.type_as] = one_hot, to
    whole.to, whole.cuda, whole.type, whole.data = to, cuda, type_, data
    whole.pin_memory, whole.is_pinned = pin_memory, lambda self, device=None: pinned(self)
    OWN[whole.share_memory_] = lambda self: self
    for func in (torch.linalg.svdvals, torch.linalg.eigvalsh):
        OWN[func] = _without_mode(func)
    internals.compiled_modules_are_wrapped()
    torch.UntypedStorage.resize_ = _storage_resize  # type: ignore[method-assign]
    torch.UntypedStorage.cuda = _storage_cuda  # type: ignore[assignment]
    internals.modules_move_by_number()
    parallel: Any = torch.nn.parallel
    parallel.scatter_gather.Scatter = SimpleNamespace(apply=_scatter)
    torch.serialization.register_package(5, _tag, _located)
    internals.adopt_made(adopted)
    internals.groups_by_device(lambda t: t.device if isinstance(t, SimulatedTensor) else None)
