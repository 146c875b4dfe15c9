"""Distances of two tensors: by bytes, in ulps, in absolute value."""

from __future__ import annotations

import filecmp
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from safetensors import SafetensorError, safe_open

from esper_harness.report.plain import many
from golden.trace.errors import UnusableInput
from golden.trace.numbers import far_apart

if TYPE_CHECKING:
    import numpy as np
    import torch

# By the names of dtypes: torch and numpy, seconds to load, are only needed where values differ.
_INTEGER = {"float64": "uint64", "float32": "uint32", "float16": "uint16", "bfloat16": "uint16"}


class Distance(NamedTuple):
    """The distance of two tensors in words, and in ulps if all that differs are finite floats."""

    text: str
    ulps: int | None


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
    before, now = (
        _show(side.reshape(-1)[flat], raw[flat]) for side, raw in ((left, raw_left), (right, raw_right))
    )
    share = _share(before, now)
    parts = [f"{count} of {left.numel()} elements"]
    ulps = None
    if _name(left) in _INTEGER:
        usable = (a.isfinite() & b.isfinite()).numpy()
        if usable.any():
            i, j = _ordinals(a)[usable], _ordinals(b)[usable]
            ulps = int((np.maximum(i, j) - np.minimum(i, j)).max())
            parts += [] if share else [f"up to {many(ulps, 'ulp')}"]
            parts.append(f"{float((a.double() - b.double()).abs().numpy()[usable].max()):.3g} absolute")
        if a.isnan().any() or b.isnan().any():
            parts.append(f"NaN: {int(a.isnan().sum())} in base, {int(b.isnan().sum())} in head")
        ulps = ulps if usable.all() else None
    elif not left.dtype.is_complex and left.dtype != torch.bool:
        parts.append(f"{float((a.double() - b.double()).abs().max()):.3g} absolute")
    index = [int(i) for i in np.unravel_index(flat, tuple(left.shape))] if left.dim() else []
    parts.append(f"first at {index}: {before} -> {now}{share}")
    return Distance(", ".join(parts), ulps)


def _share(left: str, right: str) -> str:
    try:
        found = far_apart(float(left), float(right))
    except ValueError:
        return ""
    return f" ({found})" if found else ""


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
