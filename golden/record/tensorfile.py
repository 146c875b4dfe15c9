"""Tensors written to a safetensors file, straight from where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, TensorSpec, serialize_file

from ..trace.digest import lies_on_host

_pointer, _is_contiguous = torch.Tensor.data_ptr, torch.Tensor.is_contiguous
_is_negated = torch.Tensor.is_neg


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Write dense tensors (see `plain`) of any device; false for a dtype that the format has no name for."""
    # Held until they are written.
    kept = {name: _on_host(tensor) for name, tensor in tensors.items()}
    try:
        specs = {
            name: TensorSpec(
                dtype=str(tensor.dtype).removeprefix("torch."),
                shape=list(tensor.shape),
                data_ptr=_pointer(tensor),
                data_len=tensor.numel() * tensor.element_size(),
            )
            for name, tensor in kept.items()
        }
    except SafetensorError:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    serialize_file(specs, path)
    return True


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor whose bytes lie on the host in logical order."""
    if not _is_contiguous(tensor) or _is_negated(tensor):
        tensor = tensor.resolve_neg().contiguous()
    return tensor if lies_on_host(tensor) else tensor.cpu()
