"""Copies that ``non_blocking`` brings to the host: nothing that can be read before the host has waited."""

from __future__ import annotations

from types import MethodWrapperType
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from . import internals
from .operations import ASKING
from .streams import ARRIVALS, Stream, done
from .syncs import Place, place, title

_Tensor: Any = torch.Tensor


def pinned(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor of the host is in memory that was pinned."""
    return bool(getattr(tensor.untyped_storage(), "simulated_pinned", False))


def mark_pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Have the memory of a tensor of the host count as pinned."""
    storage: Any = tensor.untyped_storage()
    storage.simulated_pinned = True
    return tensor


def poison(target: torch.Tensor, stream: Stream) -> None:
    """Hide what the last operation of a stream copied until the host has waited for it."""
    target, seq = target.detach(), stream.seq
    values = target.clone()
    target.fill_(float("nan"))

    def arrival() -> bool:
        if done(stream, seq):
            target.copy_(values)
        return done(stream, seq)

    ARRIVALS.append(arrival)


class HostCopy(_Tensor):  # type: ignore[misc]
    """A tensor of the host that a ``non_blocking`` copy fills; an error to read before the host waits."""

    queued: tuple[Stream, int, Place]
    # Torch's own, which is asked as a function; the simulation replaces it in other tensors.
    data = _Tensor.data

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if type(func) is MethodWrapperType or func.__name__ in _UNREAD:
            with internals.Disabled():
                found = func(*args, **kwargs or {})
            return filling(found, args[0].queued) if type(found) is torch.Tensor else found
        tree_map_only(HostCopy, HostCopy.arrived, (args, kwargs))
        return func(*args, **kwargs or {})

    def arrived(self) -> torch.Tensor:
        """The same tensor as one like others; `RuntimeError` if the host has not waited for its values."""
        stream, seq, where = self.queued
        if not done(stream, seq):
            raise RuntimeError(
                f"read at {title(place())} before it has arrived: the copy to the host at {title(where)} is "
                "non_blocking, and nothing has synchronized since; on a GPU the values would be arbitrary"
            )
        del self.queued
        plain: Any = self
        plain.__class__ = torch.Tensor
        return plain  # type: ignore[no-any-return]

    def is_pinned(self, device: Any = None) -> bool:
        return True


# What is asked of a tensor without a look at its values.
_UNREAD = ASKING | {"detach", "data_ptr", "requires_grad_"}


def filling(tensor: torch.Tensor, queued: tuple[Stream, int, Place]) -> HostCopy:
    """Have a tensor of the host be one that a copy fills."""
    made: Any = tensor
    made.__class__, made.queued = HostCopy, queued
    return made  # type: ignore[no-any-return]
