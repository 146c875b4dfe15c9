"""Several inputs of a module in one call, where that gives the bits of separate calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_same_bits: dict[Hashable, bool] = {}
_separate: ContextVar[bool] = ContextVar("separate", default=False)


@contextmanager
def separately() -> Iterator[None]:
    """Make separate calls in the block, and try nothing."""
    token = _separate.set(True)
    try:
        yield
    finally:
        _separate.reset(token)


def run_together(run: Callable[[Tensor], Tensor], key: Hashable, stacked: Tensor, parts: int) -> Tensor:
    """What `run` makes of the equal parts of `stacked` [parts * batch, ...], stacked again.

    One call for all is faster, but which kernel computes it, and so the rounding, may follow from the size of
    the batch. So both ways are tried once for each `key` (what identifies the computation), shape and kind of
    device, and one call is made from then on only if the bits were the same.
    """
    if parts == 1:
        return run(stacked)
    if _separate.get():
        return torch.cat([run(part) for part in stacked.chunk(parts)])
    device = stacked.device
    lowered = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
    case = (key, parts, stacked.shape, stacked.dtype, device.type, lowered, torch.get_num_threads())
    known = _same_bits.get(case)
    if known:
        return run(stacked)
    separate = torch.cat([run(part) for part in stacked.chunk(parts)])
    if known is None:
        # hotpath: allow[HP014] once for each case, never again
        _same_bits[case] = torch.equal(run(stacked), separate)
    return separate
