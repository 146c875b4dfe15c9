"""Agent files: written atomically, read without running anything that is in them."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from esper.leyline.errors import InputError, OutputError

FORMAT = "esper-ppo-agent"
VERSION = 2


def write_checkpoint(path: Path, content: Mapping[str, Any]) -> None:
    """Write tensors and plain values so that `path` holds the old or the whole new file, never a part.

    OutputError, in one line, if it can't be written there.
    """
    # Torch tells of a full disk by a RuntimeError without a reason; a file does so by an OSError with one.
    serialised = io.BytesIO()
    torch.save({"format": FORMAT, "version": VERSION, **content}, serialised)
    before = "what was saved there before is intact" if path.exists() else "nothing was saved there"
    try:
        # No view of the buffer: CPython 3.12.1 crashes where both are garbage of one traceback.
        _replace(path, serialised.getvalue())
    except OSError as error:
        raise OutputError(f"{path}: can't be written ({error.strerror}); {before}") from None


def _replace(path: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def read_checkpoint(path: Path, device: torch.device | str) -> dict[str, Any]:
    """The content of an agent file; InputError, in one line, for anything else."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give one that a run saved") from None
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror})") from None
    content = _parsed(raw, device)
    if content is None:
        raise InputError(f"{path}: damaged, or not a checkpoint; save it again or choose another")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: not a checkpoint of this trainer; give one that a run saved")
    if content.get("version") != VERSION:
        raise InputError(f"{path}: checkpoint version {content.get('version')}; this trainer reads {VERSION}")
    return content


def _parsed(raw: bytes, device: torch.device | str) -> Any:
    try:
        # Torch writes checksums and does not check them; a changed weight would load as if it were right.
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if archive.testzip() is not None:
                return None
        return torch.load(io.BytesIO(raw), map_location=device, weights_only=True)
    except Exception:  # whatever damage does to the parsers of zip, pickle and torch, it is damage
        return None
