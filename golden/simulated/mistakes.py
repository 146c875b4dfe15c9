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


def _convolved(args: Arguments) -> None:
    """A convolution, whose input and weights have to be of one type."""
    source = args[0]
    for name, other in zip(("weight", "bias"), args[1:3], strict=True):
        if other is not None and other.is_cuda != source.is_cuda:
            dense = (
                "" if source.is_cuda else f" or input should be a MKLDNN tensor and {name} is a dense tensor"
            )
            kinds = f"Input type ({source.type()}) and {name} type ({other.type()})"
            raise RuntimeError(f"{kinds} should be the same{dense}")


# The check of an operation, by its name, which gets the operation's arguments.
CHECKS: dict[str, Callable[[Arguments], None]] = {
    "convolution": _convolved,
    "index": _indexed,
    "index_put": _indexed,
    "index_put_": _indexed,
    "stack": lambda args: _same(args[0]),
    "_pack_padded_sequence": _packed,
}


def placed_gradients(roots: Any, gradients: Any) -> tuple[Any, ...]:
    """The gradients of a backward pass on the devices of their tensors: only numbers are copied there."""
    placed = list(gradients)
    for at, (root, gradient) in enumerate(zip(roots, gradients, strict=False)):
        if isinstance(root, torch.Tensor) and isinstance(gradient, torch.Tensor):
            if gradient.dim() and gradient.device != root.device:
                said = f"expected device {root.device} but got {gradient.device}"
                raise RuntimeError(f"invalid gradient at index {at} - {said}")
            placed[at] = gradient.to(root.device)
    return tuple(placed)


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
