"""Tensors written to a safetensors file, straight from where they lie.

The library that reads such files makes copies and numpy arrays of them when it writes, which for the small
states that a run leaves by the dozen takes five times as long as this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch

from ..trace.digest import Flat

# In the order in which the library writes them.
_CODES = {
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.float32: "F32",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_RANKS = {dtype: rank for rank, dtype in enumerate(_CODES)}
_ALIGNMENT = 8


def writable(tensors: Mapping[str, torch.Tensor]) -> bool:
    """Tell whether the format has a name for every dtype among them."""
    return all(tensor.dtype in _CODES for tensor in tensors.values())


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write dense tensors (see `plain`) of any device, in logical order; the folder must be there.

    The format: the length of the header (u64, little-endian), the header as JSON, then the bytes of all
    tensors without a gap, wide elements first so that each lies at a multiple of its size. The same bytes as
    the library writes.
    """
    names = sorted(tensors, key=lambda name: (_RANKS[tensors[name].dtype], name))
    ordered = [tensors[name] for name in names]
    header, start = {}, 0
    for name, tensor in zip(names, ordered, strict=True):
        end = start + tensor.numel() * tensor.element_size()
        shape = list(tensor.shape)
        header[name] = {"dtype": _CODES[tensor.dtype], "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    # Holds the copies that the views may be of.
    flat = Flat(ordered)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        file.writelines(flat.views(ordered))
