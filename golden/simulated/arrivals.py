"""Copies that ``non_blocking`` brings to the host: nothing that can be read before the host has waited."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from . import internals
from .streams import ARRIVALS, Stream, done
from .syncs import Place, place, title

_Tensor: Any = torch.Tensor
_COPY: Any = torch.Tensor.copy_


def pinned(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor of the host is in memory that was pinned."""
    return bool(getattr(tensor.untyped_storage(), "simulated_pinned", False))


def mark_pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Have the memory of a tensor of the host count as pinned."""
    storage: Any = tensor.untyped_storage()
    storage.simulated_pinned = True
    return tensor


def poison(target: torch.Tensor, stream: Stream, seq: int) -> None:
    """Hide what was copied until the host has waited for it."""
    values = target.clone()
    target.fill_(float("nan"))

    def arrival() -> bool:
        if not done(stream, seq):
            return False
        _COPY(target, values)
        return True

    ARRIVALS.append(arrival)


class HostCopy(_Tensor):  # type: ignore[misc]
    """A tensor of the host that a ``non_blocking`` copy fills; an error to read before the host waits."""

    on_host: torch.Tensor
    queued: tuple[Stream, int, Place]

    @staticmethod
    def __new__(cls, inner: torch.Tensor, queued: tuple[Stream, int, Place]) -> HostCopy:
        made: HostCopy = internals.make_wrapper(cls, inner)
        made.on_host, made.queued = inner, queued
        return made

    def arrived(self) -> torch.Tensor:
        """The values that were copied; `RuntimeError` if the host has not waited for them."""
        stream, seq, where = self.queued
        if not done(stream, seq):
            raise RuntimeError(
                f"read at {title(place())} before it has arrived: the copy to the host at {title(where)} is "
                "non_blocking, and nothing has synchronized since; on a GPU the values would be arbitrary"
            )
        return self.on_host

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name == "aten::detach":
            return HostCopy(func(args[0].on_host), args[0].queued)
        args, kwargs = tree_map_only(HostCopy, HostCopy.arrived, (args, kwargs or {}))
        return func(*args, **kwargs)

    __torch_function__ = torch._C._disabled_torch_function_impl

    def is_pinned(self, device: Any = None) -> bool:
        return True

    def data_ptr(self) -> int:
        return self.on_host.data_ptr()

    def __deepcopy__(self, memo: Any) -> torch.Tensor:
        return self.arrived().clone()


def _of_arrived(name: str) -> Any:
    return lambda self, *args, **kwargs: getattr(self.arrived(), name)(*args, **kwargs)


for _name in ("numpy", "__array__", "tolist", "__repr__", "untyped_storage", "__reduce_ex__"):
    setattr(HostCopy, _name, _of_arrived(_name))
