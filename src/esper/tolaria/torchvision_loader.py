"""The one place through which torchvision is imported.

The registry's torchvision is a CUDA build. Beside a CUDA torch its compiled operators load, with or without
a GPU; beside a CPU-only torch they do not, and importing it fails because it attaches shape functions to
operators that nobody declared. Only then are those operators declared here: a second declaration beside the
library's own ends the process without an exception.
"""

import functools
import sys
from types import ModuleType
from typing import Any

import torch

_SCHEMAS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


@functools.cache
def load_datasets() -> ModuleType:
    """The module `torchvision.datasets`. Takes about a second the first time, so call it only when needed."""
    try:
        import torchvision.datasets
    except RuntimeError as error:
        if not _lacks_operators(error):
            raise
        _forget_torchvision()
        _declare_missing_operators()
        import torchvision.datasets
    return torchvision.datasets


def _lacks_operators(error: RuntimeError) -> bool:
    message = str(error)
    named = any(f"torchvision::{name} does not exist" in message for name in _SCHEMAS)
    return named and bool(_undeclared())


def _undeclared() -> list[str]:
    return [name for name in _SCHEMAS if not hasattr(torch.ops.torchvision, name)]


def _forget_torchvision() -> None:
    # What was imported before the failure holds on to modules that the second import makes anew.
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


@functools.cache
def _declare_missing_operators() -> Any:
    # The library object must stay alive: its schemas go when it does; the cache holds it.
    library = torch.library.Library("torchvision", "DEF")
    for name in _undeclared():
        library.define(_SCHEMAS[name])
    return library
