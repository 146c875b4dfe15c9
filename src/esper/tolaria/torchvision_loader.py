"""The one place through which torchvision is imported.

The registry's torchvision is a CUDA build. Beside a CPU-only torch its compiled operators do not load,
and importing it fails because it attaches shape functions to operators that nobody declared. Declaring
those two schemas first is all that its Python parts need.
"""

import functools
from typing import Any

import torch

_MISSING_SCHEMAS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


@functools.cache
def load_datasets() -> Any:
    """The module `torchvision.datasets`. Takes about a second the first time, so call it only when needed."""
    if not torch.cuda.is_available():
        _declare_missing_operators()
    import torchvision.datasets

    return torchvision.datasets


@functools.cache
def _declare_missing_operators() -> torch.library.Library:
    # The library object must stay alive: its schemas go when it does; the cache holds it.
    library = torch.library.Library("torchvision", "DEF")
    for name, schema in _MISSING_SCHEMAS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)
    return library
