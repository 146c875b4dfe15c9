"""The files of full states."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from golden.record.tensorfile import write_tensors


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


def test_a_dtype_without_a_name_in_the_format(tmp_path: Path) -> None:
    assert write_tensors(tmp_path / "file", {"x": torch.zeros(2), "größe": torch.zeros(0, 3)})
    assert load_file(tmp_path / "file")["größe"].shape == (0, 3)
    assert not write_tensors(tmp_path / "other", {"x": torch.zeros(2, dtype=torch.complex128)})
    assert not (tmp_path / "other").exists()
