"""The synthetic set: the same bytes everywhere, made once, made again when damaged."""

import hashlib
import math
import os
from pathlib import Path

import numpy as np
import pytest

from esper.leyline.errors import InputError
from esper.tolaria.cifar import generate, read_cifar10, synthetic_folder


def test_the_bytes_are_these() -> None:
    images, labels = generate(1_500)
    digest = hashlib.sha256(images.tobytes() + labels.astype("<i8").tobytes()).hexdigest()
    assert digest == "47fa39eed050fe33dcf1a340a1136b6aba984d493d4447db2d111702deb67bd4"


def test_no_rounded_sine_is_near_a_half_so_that_every_libm_agrees() -> None:
    values = [127 * math.sin(2 * math.pi * step / 256) for step in range(256)]
    assert min(abs(abs(value) % 1 - 0.5) for value in values) > 1e-6


def test_fewer_records_are_a_prefix() -> None:
    few, few_labels = generate(10)
    more, more_labels = generate(1_200)
    np.testing.assert_array_equal(few, more[:10])
    np.testing.assert_array_equal(few_labels, more_labels[:10])


def test_the_folder_is_made_once_and_read_as_cifar10() -> None:
    folder = synthetic_folder()
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert synthetic_folder() == folder
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == stamps
    images, labels, test_images, _ = read_cifar10(folder, expected=False)
    assert (len(images), len(test_images)) == (5_000, 1_000)
    assert np.bincount(labels, minlength=10).min() > 400


def test_a_damaged_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    batch = synthetic_folder() / "cifar-10-batches-py" / "data_batch_2"
    good = batch.read_bytes()
    batch.write_bytes(good[:1000])
    synthetic_folder()
    assert batch.read_bytes() == good
    assert [path.name for path in (tmp_path / "esper-harness").iterdir()] == [batch.parents[1].name]


@pytest.mark.skipif(os.name == "nt", reason="the path is a POSIX one")
def test_a_cache_that_cannot_be_written_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    with pytest.raises(InputError, match=r"/dev/null/cache.*cannot be written.*XDG_CACHE_HOME"):
        synthetic_folder()
