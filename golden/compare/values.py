"""Distances of two tensors: by bytes, in ulps, in absolute value."""

from __future__ import annotations

import filecmp
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from golden.compare.divergence import Distance
from golden.trace.errors import UnusableInput

if TYPE_CHECKING:
    import numpy as np
    import torch

# By the names of dtypes: torch and numpy, seconds to load, are only needed where values differ.
_INTEGER = {"float64": "uint64", "float32": "uint32", "float16": "uint16", "bfloat16": "uint16"}


def distance(left: torch.Tensor, right: torch.Tensor) -> Distance | None:
    """Return the distance of two tensors of one dtype and shape; None if their bytes are equal."""
    import numpy as np
    import torch

    raw_left, raw_right = _rows(left), _rows(right)
    differs = (raw_left != raw_right).any(axis=1)
    count = int(differs.sum())
    if count == 0:
        return None
    flat = int(np.argmax(differs))
    a, b = left.reshape(-1)[torch.from_numpy(differs)], right.reshape(-1)[torch.from_numpy(differs)]
    nan_left = nan_right = 0
    ulps: int | None = None
    absolute: float | None = None
    finite = False
    if _name(left) in _INTEGER:
        nan_left, nan_right = int(a.isnan().sum()), int(b.isnan().sum())
        usable = (a.isfinite() & b.isfinite()).numpy()
        finite = bool(usable.all())
        if usable.any():
            i, j = _ordinals(a)[usable], _ordinals(b)[usable]
            ulps = int((np.maximum(i, j) - np.minimum(i, j)).max())
            gaps = (a.double() - b.double()).abs().numpy()[usable]
            absolute = float(gaps.max())
    elif not left.dtype.is_complex and left.dtype != torch.bool:
        absolute = float((a.double() - b.double()).abs().max())
    return Distance(
        differing=count,
        elements=left.numel(),
        ulps=ulps,
        absolute=absolute,
        finite=finite,
        nan_left=nan_left,
        nan_right=nan_right,
        index=tuple(int(i) for i in np.unravel_index(flat, tuple(left.shape))) if left.dim() else (),
        left=_show(left.reshape(-1)[flat], raw_left[flat]),
        right=_show(right.reshape(-1)[flat], raw_right[flat]),
    )


def _rows(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    import torch

    raw = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return raw.reshape(tensor.numel(), -1)


def _ordinals(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return floats as unsigned integers in numeric order; minus zero lies one place below plus zero."""
    import numpy as np
    import torch

    kind = np.dtype(_INTEGER[_name(tensor)])
    bits = tensor.contiguous().view(torch.uint8).numpy().view(kind)
    sign = np.array(1 << (8 * bits.itemsize - 1), dtype=kind)
    ordered: np.ndarray[Any, Any] = np.where(bits & sign, ~bits, bits | sign)
    return ordered


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _show(value: torch.Tensor, raw: np.ndarray[Any, Any]) -> str:
    if value.dtype.is_floating_point and bool(value.isnan()):
        return f"nan (0x{raw[::-1].tobytes().hex()})"
    return repr(value.item())


def same_files(left: Path, right: Path) -> tuple[int, int] | None:
    """Count the tensors and bytes of two saved states, if their files are equal; None if they aren't."""
    try:
        if not filecmp.cmp(left, right, shallow=False):
            return None
        # The library would load numpy, or torch, to tell.
        with left.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            entries = json.loads(file.read(size))
        entries.pop("__metadata__", None)
        end = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        return (len(entries), end) if 8 + size + end == left.stat().st_size else None
    except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError):
        return None  # not to be read, as loading them will tell


def load_tensors(path: Path) -> dict[str, dict[str, torch.Tensor]]:
    """Return a saved state as kind -> name -> tensor, in the order of its layout. Raises `UnusableInput`."""
    found: list[tuple[str, int, str, torch.Tensor]] = []
    try:
        path.open("rb").close()  # the library does not say why it can't
        with safe_open(path, framework="pt") as file:
            for key in file.keys():  # noqa: SIM118 - not a dict
                kind, index, name = key.split("/", 2)
                found.append((kind, int(index), name, file.get_tensor(key)))
    except OSError as error:
        raise UnusableInput(f"{path} can't be read: {error.strerror}") from None
    except (SafetensorError, ValueError) as error:
        raise UnusableInput(f"{path} is damaged: {error}; record that run again") from None
    tensors: dict[str, dict[str, torch.Tensor]] = {}
    for kind, _, name, tensor in sorted(found, key=lambda item: item[:2]):
        tensors.setdefault(kind, {})[name] = tensor
    return tensors
