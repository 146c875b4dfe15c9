"""Functions that make tensors, on a simulated device where one is asked for."""

from __future__ import annotations

import functools
from typing import Any

import torch

from . import internals
from .arrivals import HostCopy, mark_pinned
from .moves import copied, number_of, to
from .streams import device_index
from .tensor import OWN, SimulatedTensor, adopted, apart, fresh, on_host, plain_call

# What comes from Python is made on the host, then copied.
_COPYING = {"tensor", "as_tensor", "asarray"}
# Where the type of `torch.set_default_tensor_type` is.
DEFAULT_TYPE = ["cpu"]
_new: Any = torch.Tensor.__new__


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
        elif name.startswith("sparse_") and any(isinstance(a, SimulatedTensor) for a in args):
            # Its parts are there already.
            kwargs.pop("device", None)
            return original(*args, **kwargs)
        elif not like and name != "normal":
            args, kwargs = numbers(args), numbers(kwargs)
        generator, kind = kwargs.get("generator"), "cpu" if index is None else "cuda"
        if generator is not None and (theirs := generator.device.type) != kind:
            raise RuntimeError(f"Expected a '{kind}' device type for generator but found '{theirs}'")
        pin = kwargs.pop("pin_memory", False)
        if index is not None:
            kwargs["device"] = "cpu"
            if kwargs.get("out") is not None:
                del kwargs["device"]
                return original(*args, **kwargs)
        needs = kwargs.pop("requires_grad", False)
        with apart():
            made = original(*args, **kwargs)
        if index is not None:
            made = copied(made, index) if name in _COPYING else fresh(made, index)
        elif pin:
            mark_pinned(made)
        return made.requires_grad_(True) if needs else made

    return make


def numbers(values: Any) -> Any:
    """Arguments, with tensors of a device in them as numbers: each is read."""
    if isinstance(values, SimulatedTensor):
        return values.item()
    if type(values) is dict:
        return {name: value if name == "out" else numbers(value) for name, value in values.items()}
    return type(values)(map(numbers, values)) if type(values) in (list, tuple) else values


def legacy(dtype: torch.dtype, device: Any, *args: Any) -> torch.Tensor:
    """``torch.cuda.FloatTensor(...)`` and ``tensor.new(...)``: of a size, or of data."""
    if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
        return torch.tensor(args[0], dtype=dtype, device=device)
    return torch.empty(*args or (0,), dtype=dtype, device=device)


@functools.wraps(_new)
def _tensor(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """``torch.Tensor(...)``: another name for a tensor, or one of the default type."""
    if cls is torch.Tensor and args and isinstance(args[0], SimulatedTensor):
        return adopted(plain_call(_new, cls, *args, **kwargs))
    if cls is torch.Tensor and DEFAULT_TYPE[0] == "cuda" and not isinstance((*args, 0)[0], torch.Tensor):
        return legacy(torch.get_default_dtype(), "cuda", *args)
    return _new(cls, *args, **kwargs)


def _read(data: Any, kwargs: dict[str, Any]) -> Any:
    """The data that ``torch.tensor`` is given, with tensors of a device in it as numbers: each is read."""
    if isinstance(data, HostCopy):
        return data.arrived()
    if isinstance(data, SimulatedTensor):
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = data.dtype
        return data.tolist()
    if isinstance(data, (list, tuple)) and any(isinstance(x, (list, tuple, torch.Tensor)) for x in data):
        return [_read(item, kwargs) for item in data]
    return data


def _method(name: str, original: Any) -> Any:
    """A method such as ``tensor.new_zeros``, on the device of the tensor or the one that is asked for."""
    function = getattr(torch, name)

    @functools.wraps(original)
    def make(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if number_of(self) is None and device_index(kwargs.get("device")) is None:
            return original(self, *args, **kwargs)
        asked = {key: value for key, value in kwargs.items() if value is not None}
        return function(*args, **{"dtype": self.dtype, "device": self.device, **asked})

    return make


def install() -> None:
    """Put them in the place of torch's own."""
    for name in internals.constructors():
        setattr(torch, name, _constructor(name, getattr(torch, name)))
    torch.Tensor.__new__ = _tensor  # type: ignore[method-assign]
    OWN[torch.Tensor.new] = lambda self, *args, **_: legacy(self.dtype, self.device, *args)
    for name in ("zeros", "ones", "full", "empty", "tensor", "empty_strided"):
        method = f"new_{name}"
        setattr(torch.Tensor, method, _method(name, getattr(torch.Tensor, method)))
