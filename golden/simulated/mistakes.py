"""Mistakes with devices that single functions of PyTorch refuse, each with its own text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Arguments = tuple[Any, ...]
SAME_DEVICE = "Expected all tensors to be on the same device, but found at least two devices, {} and {}!"
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
    "'spawn' start method"
)


def _indexed(args: Arguments) -> None:
    """``x[indices]`` and ``x[indices] = values``: indices may be on the host, values with dimensions not."""
    target, values = args[0], args[2] if len(args) > 2 else None
    for index in args[1]:
        if isinstance(index, torch.Tensor) and index.is_cuda and index.device != target.device:
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({target.device})"
            )
    if values is not None and values.dim():
        _same([target, values])


def _same(tensors: Any) -> None:
    devices = dict.fromkeys(str(tensor.device) for tensor in tensors)
    if len(devices) > 1:
        raise RuntimeError(SAME_DEVICE.format(*devices))


def _packed(args: Arguments) -> None:
    """``pack_padded_sequence``."""
    lengths = args[1]
    if lengths.is_cuda:
        said = f"{lengths.dim()}D {lengths.device} {str(lengths.dtype)[6:].replace('int64', 'Long')} tensor"
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {said}")


# The check of an operation, by its name, which gets the operation's arguments.
CHECKS: dict[str, Callable[[Arguments], None]] = {
    "index": _indexed,
    "index_put": _indexed,
    "index_put_": _indexed,
    "stack": lambda args: _same(args[0]),
    "_pack_padded_sequence": _packed,
}


def check_gradients(roots: Any, gradients: Any) -> None:
    """Refuse a backward pass from gradients that are not where their tensors are."""
    for at, (root, gradient) in enumerate(zip(roots, gradients, strict=False)):
        if not isinstance(root, torch.Tensor) or not isinstance(gradient, torch.Tensor):
            continue
        if gradient.dim() and gradient.device != root.device:
            raise RuntimeError(
                f"invalid gradient at index {at} - expected device {root.device} but got {gradient.device}"
            )


def set_gradient(tensor: torch.Tensor, gradient: Any) -> None:
    """``tensor.grad = gradient``."""
    if isinstance(gradient, torch.Tensor) and gradient.device.type != tensor.device.type:
        raise TypeError(
            f"attempting to assign a gradient with device type '{gradient.device.type}' to a tensor with "
            f"device type '{tensor.device.type}'. Please ensure that the gradient and the tensor are on the "
            "same device"
        )
    with torch._C.DisableTorchFunctionSubclass():
        _GRADIENT.__set__(tensor, gradient)


_GRADIENT: Any = torch.Tensor.grad


def refuse_fork(*_: Any, **__: Any) -> None:
    """Say that a device was used before this process was forked."""
    raise RuntimeError(FORKED)
