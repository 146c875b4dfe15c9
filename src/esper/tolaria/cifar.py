"""CIFAR-10's python format, read from a folder or filled with synthetic images."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import math
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from esper.leyline.errors import InputError
from esper.tolaria.text import Words
from esper.tolaria.torchvision_loader import load_datasets

BASE_FOLDER = "cifar-10-batches-py"
TRAIN_FILES = tuple(f"data_batch_{index}" for index in range(1, 6))
TEST_FILES = ("test_batch",)
META_FILE = "batches.meta"
IMAGE_SHAPE = (3, 32, 32)
CLASSES = 10

# A published batch holds 10,000 records of one label and 3,072 bytes; a smaller file cannot be one of them.
_PUBLISHED_MIN_BYTES = 10_000 * 3_073
_PIXELS = 3_072

# What a pickled array needs, under the names that numpy has had; none of them runs code of the file's
# choosing.
_ALLOWED_GLOBALS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.numeric", "_frombuffer"),
    ("numpy._core.numeric", "_frombuffer"),
    ("_codecs", "encode"),
}

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


def read_cifar10(
    folder: Path, *, download: bool = False, expected: bool = True
) -> tuple[Images, Labels, Images, Labels]:
    """Training images [N, 3, 32, 32] and labels [N], then the same of the test set.

    Raises InputError if the folder is missing, incomplete or damaged. Shorter or altered files are
    accepted, with a warning where the published ones were `expected`.
    """
    if download:
        _download(folder)
    batches = _batches_folder(folder)
    if _may_be_published(batches) and (published := _read_published(batches.parent)) is not None:
        return published
    train = [_read_batch(batches / name) for name in TRAIN_FILES]
    test = [_read_batch(batches / name) for name in TEST_FILES]
    if expected:
        _tell_unpublished(batches)
    return (*_concatenate(train), *_concatenate(test))


@functools.cache
def _tell_unpublished(batches: Path) -> None:
    """Warn of a folder once in a process, however often it is read."""
    warnings.warn(
        f"{batches}: the checksums are not those of the published CIFAR-10; read what is there", stacklevel=3
    )


def _download(folder: Path) -> None:
    existed = folder.exists()
    try:
        load_datasets().CIFAR10(str(folder), download=True)
    except Exception as error:
        if not existed:
            with contextlib.suppress(OSError):  # what was fetched so far is worth keeping
                folder.rmdir()
        raise InputError(
            f"{folder}: CIFAR-10 could not be downloaded ({_one_line(error)}); fetch it by other means "
            f"into this folder, or leave out --data-dir for the synthetic set"
        ) from error


def _batches_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise InputError(f"--data-dir {folder}: no such folder; pass --download to fetch CIFAR-10 into it")
    batches = folder / BASE_FOLDER
    if folder.name == BASE_FOLDER and not batches.is_dir():
        batches = folder
    missing = [name for name in (*TRAIN_FILES, *TEST_FILES) if not (batches / name).is_file()]
    if missing:
        raise InputError(
            f"--data-dir {folder}: no {BASE_FOLDER}/{missing[0]} in it; it must hold CIFAR-10 in its "
            f"python format (--download fetches it)"
        )
    return batches


def _may_be_published(batches: Path) -> bool:
    files = [batches / name for name in (*TRAIN_FILES, *TEST_FILES)]
    return (batches / META_FILE).is_file() and all(
        path.stat().st_size >= _PUBLISHED_MIN_BYTES for path in files
    )


def _read_published(root: Path) -> tuple[Images, Labels, Images, Labels] | None:
    datasets = load_datasets()
    try:
        train, test = (datasets.CIFAR10(str(root), train=flag) for flag in (True, False))
    except RuntimeError:  # torchvision's answer to a checksum that is not the published one
        return None
    parts: list[Any] = []
    for part in (train, test):
        parts += [np.ascontiguousarray(part.data.transpose(0, 3, 1, 2)), np.asarray(part.targets, np.int64)]
    return parts[0], parts[1], parts[2], parts[3]


class _ArraysOnly(pickle.Unpickler):
    """Reads arrays, strings, numbers, lists and dicts; refuses every other global."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED_GLOBALS:
            raise pickle.UnpicklingError(f"it wants to load {module}.{name}")
        return super().find_class(module, name)


def _read_batch(path: Path) -> tuple[Images, Labels]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        entry = _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise InputError(
            f"{path}: not a CIFAR-10 batch file, or a damaged one ({_one_line(error)})"
        ) from error
    if not isinstance(entry, dict):
        raise InputError(f"{path}: not a CIFAR-10 batch file (it holds a {type(entry).__name__}, not a dict)")
    entry = {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in entry.items()}
    data, labels = entry.get("data"), entry.get("labels")
    if (
        not isinstance(data, np.ndarray)
        or data.dtype != np.uint8
        or data.ndim != 2
        or data.shape[1] != _PIXELS
    ):
        raise InputError(f"{path}: not a CIFAR-10 batch file (no `data` of bytes in rows of {_PIXELS})")
    if not isinstance(labels, list) or len(labels) != len(data) or not labels:
        raise InputError(
            f"{path}: not a CIFAR-10 batch file (no `labels`, one for each of {len(data)} images)"
        )
    if not all(isinstance(label, int) and 0 <= label < CLASSES for label in labels):
        raise InputError(f"{path}: damaged: a label is not a number from 0 to {CLASSES - 1}")
    return data.reshape(-1, *IMAGE_SHAPE), np.asarray(labels, np.int64)


def _concatenate(parts: Iterable[tuple[Images, Labels]]) -> tuple[Images, Labels]:
    images, labels = zip(*parts, strict=True)
    return np.concatenate(images), np.concatenate(labels)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."


RECORDS_PER_FILE = 1_000
PROTOTYPES_PER_CLASS = 12
_SEED = 20_240_229
_SIDE = 32
_TURN = 256  # phase units in a full turn
_DIGEST_FILE = "SHA256"
# Changing anything that changes an image changes this name, so that a stale cache is never read.
_FOLDER_NAME = "synthetic-cifar10-1"


def synthetic_folder() -> Path:
    """The cache folder that holds the set; generated there the first time, and again if it was damaged.

    Raises InputError if the cache folder cannot be written.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "esper-harness"
    target = cache / _FOLDER_NAME
    if _is_intact(target):
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{_FOLDER_NAME}-", dir=cache))
        try:
            _write(scratch)
            _replace(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"{cache}: the synthetic images cannot be written there ({error.strerror}); set XDG_CACHE_HOME "
            f"to a folder that can be written, or pass --data-dir"
        ) from error
    return target


def generate(records: int) -> tuple[Images, Labels]:
    """The first `records` images [N, 3, 32, 32] and labels [N] of the set."""
    words = Words(_SEED)
    count = CLASSES * PROTOTYPES_PER_CLASS
    # Wave vectors in phase units per pixel: a length of 18 to 58 is a period of 14 to 4 pixels.
    angle = words.below(_TURN, count, 2)
    length = 18 + words.below(41, count, 2)
    wave_x, wave_y = (length * _sine(angle + _TURN // 4)) >> 7, (length * _sine(angle)) >> 7
    colour = words.below(181, count, 2, 3) - 90

    images = np.empty((records, 3, _SIDE, _SIDE), np.uint8)
    labels = np.empty(records, np.int64)
    for start in range(0, records, RECORDS_PER_FILE):
        words = Words(_SEED + 1 + start)
        prototype = words.below(count, RECORDS_PER_FILE)
        batch = _compose(words, wave_x[prototype], wave_y[prototype], colour[prototype])
        end = min(start + RECORDS_PER_FILE, records)
        images[start:end] = batch[: end - start]
        labels[start:end] = (prototype % CLASSES)[: end - start]
    return images, labels


def _compose(words: Words, wave_x: np.ndarray, wave_y: np.ndarray, colour: np.ndarray) -> Images:
    n = len(wave_x)
    back_angle, back_length = words.below(_TURN, n, 1), 12 + words.below(40, n, 1)
    wave_x = np.concatenate([wave_x, (back_length * _sine(back_angle + _TURN // 4)) >> 7], 1)
    wave_y = np.concatenate([wave_y, (back_length * _sine(back_angle)) >> 7], 1)
    contrast = 40 + words.below(89, n, 1, 1)
    amplitude = np.concatenate([(colour * contrast) >> 7, words.below(81, n, 1, 3) - 40], 1)
    phase = words.below(_TURN, n, 3)
    tint = words.below(49, n, 3) - 24

    along = np.arange(_SIDE)
    grid = (
        wave_x[:, :, None, None] * along[None, None, None, :]
        + wave_y[:, :, None, None] * along[None, None, :, None]
        + phase[:, :, None, None]
    )
    total = 128 + tint[:, :, None, None] + words.below(49, n, 3, _SIDE, _SIDE) - 24
    for layer in range(3):
        total += (amplitude[:, layer, :, None, None] * _sine(grid[:, layer])[:, None]) >> 7
    return np.clip(total, 0, 255).astype(np.uint8)


_TABLE = np.array([round(127 * math.sin(2 * math.pi * step / _TURN)) for step in range(_TURN)], np.int64)


def _sine(phase: np.ndarray) -> np.ndarray:
    return _TABLE[phase % _TURN]


def _write(folder: Path) -> None:
    names = (*TRAIN_FILES, *TEST_FILES)
    images, labels = generate(RECORDS_PER_FILE * len(names))
    (folder / BASE_FOLDER).mkdir()
    for index, name in enumerate(names):
        part = slice(index * RECORDS_PER_FILE, (index + 1) * RECORDS_PER_FILE)
        entry = {
            b"batch_label": name.encode(),
            b"labels": labels[part].tolist(),
            b"data": images[part].reshape(RECORDS_PER_FILE, -1),
            b"filenames": [],
        }
        (folder / BASE_FOLDER / name).write_bytes(pickle.dumps(entry, protocol=4))
    meta = {b"label_names": [b"texture%d" % index for index in range(CLASSES)]}
    (folder / BASE_FOLDER / META_FILE).write_bytes(pickle.dumps(meta, protocol=4))
    (folder / _DIGEST_FILE).write_text(_digest(folder) + "\n")


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for name in (*TRAIN_FILES, *TEST_FILES):
        total.update((folder / BASE_FOLDER / name).read_bytes())
    return total.hexdigest()


def _is_intact(folder: Path) -> bool:
    try:
        return (folder / _DIGEST_FILE).read_text().strip() == _digest(folder)
    except OSError:
        return False


def _replace(scratch: Path, target: Path) -> None:
    """Rename a complete folder into place; another process may have done so at the same time."""
    if target.exists() and not _is_intact(target):
        shutil.rmtree(target)
    try:
        scratch.rename(target)
    except OSError:
        if not _is_intact(target):
            raise
