"""The files of full states: what the safetensors library would have written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from golden.record.tensorfile import writable, write_tensors

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
)


def test_same_bytes_as_the_library_for_every_dtype(tmp_path: Path) -> None:
    raw = torch.randint(256, (48,), dtype=torch.uint8)
    raws = [(raw % 2 if dtype == torch.bool else raw).clone().view(dtype) for dtype in DTYPES]
    tensors = {f"{number % 3}/größe {number}": tensor for number, tensor in enumerate(raws)}
    tensors |= {"scalar": torch.tensor(1.5), "empty": torch.zeros(0, 3), "matrix": torch.randn(2, 5)}
    save_file(tensors, tmp_path / "library")
    write_tensors(tmp_path / "own", tensors)
    assert (tmp_path / "own").read_bytes() == (tmp_path / "library").read_bytes()


@pytest.mark.parametrize("name", ["transposed", "every second", "channels last", "expanded", "negated"])
def test_logical_order_whatever_the_strides(tmp_path: Path, name: str) -> None:
    base = torch.randn(2, 3, 4, 4)
    tensor = {
        "transposed": base.transpose(0, 2),
        "every second": base[..., ::2],
        "channels last": base.to(memory_format=torch.channels_last),
        "expanded": base[:1].expand(5, 3, 4, 4),
        "negated": torch.view_as_complex(torch.randn(3, 4, 2)).conj().imag,
    }[name]
    write_tensors(tmp_path / "file", {"x": tensor})
    assert torch.equal(load_file(tmp_path / "file")["x"], tensor)


def test_a_dtype_without_a_name_in_the_format() -> None:
    assert writable({"x": torch.zeros(2)})
    assert not writable({"x": torch.zeros(2), "y": torch.zeros(2, dtype=torch.complex128)})
