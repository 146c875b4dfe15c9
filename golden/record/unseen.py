"""What the observer computes is not the program's: no mode that the program has entered is told of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Compute without gradients and without the program's modes; tensor classes of its own go on to work."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if torch._C._len_torch_dispatch_stack():
            with _disable_current_modes():
                yield
        else:
            yield
