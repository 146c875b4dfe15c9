"""How hooks stay unnoticed: what they compute is told to no mode, and what they replace has its old name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

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


def put(module: ModuleType, name: str, function: Any) -> None:
    """Make ``function`` what ``module`` has under a name. Compiled code calls it without looking into it."""
    function.__module__, function.__name__, function.__qualname__ = module.__name__, name, name
    function._torchdynamo_disable = True
    setattr(module, name, function)
