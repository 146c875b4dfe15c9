"""A context for the observer's own computations, of which no mode of the program is told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes

# In the place of `id`: each call of that is an event, of which Python tells who listens, as `writes` does.
identity: Callable[[object], int] = object.__hash__


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Compute without gradients and without the program's modes; tensor classes of its own go on to work."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if torch._C._len_torch_dispatch_stack():
            with _disable_current_modes():
                yield
        else:
            yield
