"""A device that is only pretended: tensors whose data the host gets by asking for it, and who asked.

Everything is computed in host memory. A tensor "on the device" wraps one there and says that its own device
is ``meta``, which torch's own code takes as no place that it may read from; every operator that gives data of
such a tensor to the host, or asks it for the size of its result, is noted with the line that called it.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

_ATEN = torch.ops.aten
_ANSWERS = {_ATEN._local_scalar_dense, _ATEN.equal, _ATEN.is_nonzero, _ATEN.allclose}
_SIZES = {
    _ATEN.nonzero, _ATEN.masked_select, _ATEN._unique, _ATEN._unique2, _ATEN.unique_dim,
    _ATEN.unique_consecutive, _ATEN.bincount, _ATEN.repeat_interleave,
}  # fmt: skip
_INDEXED = {_ATEN.index, _ATEN.index_put, _ATEN.index_put_}
_DEVICES: list[_Operators] = []


class OnDevice(torch.Tensor):
    """A tensor on the pretended device."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> OnDevice:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device="meta",
        )  # fmt: skip
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _DEVICES[-1].run(func, args, kwargs or {})

    # Torch's own text and pickle of a tensor copy it to the host first, but for `meta` and subclasses.
    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self.detach().to("cpu"))

    def __format__(self, spec: str) -> str:
        return format(self.detach().to("cpu"), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.detach().to("cpu").__reduce_ex__(protocol)


class _Operators(TorchDispatchMode):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.lines: set[int] = set()

    def note(self) -> None:
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None:
            self.lines.add(frame.f_lineno)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        operator = func.overloadpacket
        given = any(isinstance(part, OnDevice) for part in tree_flatten((args, kwargs))[0])
        to = None if kwargs.get("device") is None else torch.device(kwargs["device"]).type
        into_host = operator is _ATEN.copy_ and not isinstance(args[0], OnDevice)
        if given and (
            operator in _ANSWERS
            or (operator in _SIZES and func._overloadname != "self_int")
            or (operator in _INDEXED and any(map(_is_mask, args[1])))
            or (operator is _ATEN._to_copy and to == "cpu" and not kwargs.get("non_blocking"))
            or into_host
        ):
            self.note()
        args, kwargs = tree_map_only(OnDevice, lambda part: part.inner, (args, kwargs))
        result = func(*args, **({**kwargs, "device": "cpu"} if to == "meta" else kwargs))
        if operator in _ANSWERS or into_host or not ((given and to != "cpu") or to == "meta"):
            return result
        return tree_map_only(torch.Tensor, OnDevice, result)


def _is_mask(index: object) -> bool:
    return isinstance(index, OnDevice) and index.dtype in (torch.bool, torch.uint8)


class _Functions(TorchFunctionMode):
    """What torch does before any operator is called."""

    def __init__(self, operators: _Operators) -> None:
        super().__init__()
        self.operators = operators

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.Tensor.tolist and isinstance(args[0], OnDevice):
            self.operators.note()
            return args[0].inner.tolist()
        if func is torch.tensor:
            device = kwargs.pop("device", None)
            if any(isinstance(part, OnDevice) for part in tree_flatten(args)[0]):
                args = tree_map_only(OnDevice, lambda part: part.item(), args)
            made = func(*args, **kwargs)
            return made if device is None else made.to(device)
        return func(*args, **kwargs)


class Device:
    """Notes the lines of a file that read from the device while it is entered."""

    def __init__(self, path: str) -> None:
        self._operators = _Operators(path)
        self._functions = _Functions(self._operators)

    @property
    def lines(self) -> set[int]:
        """Numbers of the lines that read."""
        return self._operators.lines

    def __enter__(self) -> Device:
        _DEVICES.append(self._operators)
        self._operators.__enter__()
        self._functions.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._functions.__exit__(*error)
        self._operators.__exit__(*error)
        _DEVICES.pop()
