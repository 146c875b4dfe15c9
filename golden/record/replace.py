"""Put a function in the place of another one, so that what is pickled by its name finds it there."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def put(module: ModuleType, name: str, function: Any) -> None:
    """Make ``function`` what ``module`` has under a name. Compiled code calls it without looking into it."""
    function.__module__, function.__name__, function.__qualname__ = module.__name__, name, name
    function._torchdynamo_disable = True
    setattr(module, name, function)
