"""A synthetic image set in CIFAR-10's file format, the same bytes on every machine, made once per user.

Every class is a dozen prototypes of two oriented, coloured gratings; an image shows one of them over a
weaker grating of random direction, with its own tint, contrast, phases and noise. All arithmetic is on
integers: the sine table is rounded once, and random numbers are raw words of a bit generator whose
stream numpy guarantees.
"""

import hashlib
import math
import os
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np

from esper.leyline.errors import InputError
from esper.tolaria.cifar import (
    BASE_FOLDER,
    CLASSES,
    META_FILE,
    TEST_FILES,
    TRAIN_FILES,
    Images,
    Labels,
)
from esper.tolaria.words import Words

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


def _compose(words: "Words", wave_x: np.ndarray, wave_y: np.ndarray, colour: np.ndarray) -> Images:
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
