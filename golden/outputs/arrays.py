"""Files of arrays by tensor: safetensors and numpy's."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import xxhash

from golden.outputs.pickles import Unreadable


def read_safetensors(path: Path) -> Any:
    """Return dtype, shape and digest of every tensor of a safetensors file, and its metadata."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    try:
        header = json.loads(raw[8 : 8 + size])
        tree: dict[str, Any] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                tree[name] = entry
                continue
            start, end = entry["data_offsets"]
            digest = xxhash.xxh3_128_hexdigest(raw[8 + size + start : 8 + size + end])
            tree[name] = f"{entry['dtype']}{entry['shape']} {digest}"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"not a safetensors file: {error}") from None
    return tree


def read_numpy(path: Path) -> Any:
    """Return the arrays of an .npz or .npy file; pickled objects in them stay closed."""
    import numpy as np  # takes longer to load than all else here, and few runs write such files

    try:
        with path.open("rb") as file:
            if path.suffix == ".npy":
                return {"array": _array(np.load(file, allow_pickle=False))}
            with np.load(file, allow_pickle=False) as archive:
                return {name: _member(archive, path, name) for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise Unreadable(f"not read by numpy: {error}") from None


def _member(archive: Any, path: Path, name: str) -> str:
    try:
        return _array(archive[name])
    except ValueError:
        with zipfile.ZipFile(path) as raw:
            return f"objects {xxhash.xxh3_128_hexdigest(raw.read(f'{name}.npy'))}"


def _array(values: Any) -> str:
    import numpy as np

    digest = xxhash.xxh3_128_hexdigest(np.ascontiguousarray(values).tobytes())
    return f"{values.dtype}{list(values.shape)} {digest}"
