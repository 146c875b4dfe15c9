"""CIFAR-10 folders: short, damaged, and those that want to run code; the synthetic set."""

import hashlib
import math
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from esper.leyline.errors import InputError
from esper.tolaria.cifar import generate, read_cifar10, synthetic_folder
from esper.tolaria.torchvision_loader import load_datasets

MakeCifar = Callable[..., Path]


@pytest.mark.filterwarnings("ignore:.*checksums")
def test_a_short_folder_is_read_in_file_order(make_cifar: MakeCifar) -> None:
    folder = make_cifar(records=3)
    images, labels, test_images, test_labels = read_cifar10(folder)
    assert images.shape == (15, 3, 32, 32)
    assert test_images.shape == (3, 3, 32, 32)
    first = pickle.loads((folder / "cifar-10-batches-py" / "data_batch_1").read_bytes())
    np.testing.assert_array_equal(images[:3].reshape(3, -1), first[b"data"])
    assert labels[:3].tolist() == first[b"labels"]
    assert len(test_labels) == 3


def test_a_missing_batch_is_named(make_cifar: MakeCifar) -> None:
    with pytest.raises(InputError, match=r"no cifar-10-batches-py/test_batch in it"):
        read_cifar10(make_cifar(test_batch=None))


class _Harmful:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


_GOOD = {"labels": [1, 2], "data": np.zeros((2, 3072), np.uint8)}


@pytest.mark.filterwarnings("error")  # one line: the damage, not the checksums as well
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a CIFAR-10 batch file, or a damaged one"),
        (b"not a pickle at all", "not a CIFAR-10 batch file, or a damaged one"),
        (pickle.dumps(_GOOD)[:-100], "not a CIFAR-10 batch file, or a damaged one"),
        (pickle.dumps([1, 2]), "it holds a list, not a dict"),
        (pickle.dumps({"labels": [1]}), "no `data` of bytes in rows of 3072"),
        (pickle.dumps(_GOOD | {"data": np.zeros((2, 3072))}), "no `data` of bytes in rows of 3072"),
        (pickle.dumps(_GOOD | {"data": np.zeros((2, 100), np.uint8)}), "no `data` of bytes"),
        (pickle.dumps(_GOOD | {"labels": [1]}), "no `labels`, one for each of 2 images"),
        (pickle.dumps(_GOOD | {"labels": [1, 10]}), "a label is not a number from 0 to 9"),
        (pickle.dumps(_GOOD | {"labels": [1, "2"]}), "a label is not a number from 0 to 9"),
    ],
)
def test_a_damaged_or_foreign_batch_file_is_one_line_with_its_name(
    make_cifar: MakeCifar, content: bytes, complaint: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_cifar10(make_cifar(data_batch_3=content))
    message = str(caught.value)
    assert "data_batch_3" in message
    assert complaint in message
    assert "\n" not in message


@pytest.mark.filterwarnings("ignore:.*checksums")
def test_a_file_that_would_run_code_is_not_unpickled(make_cifar: MakeCifar, tmp_path: Path) -> None:
    target = tmp_path / "made-by-pickle"
    with pytest.raises(InputError, match=r"wants to load \w+\.mkdir"):
        read_cifar10(make_cifar(data_batch_1=pickle.dumps(_Harmful(target))))
    assert not target.exists()


def test_a_failed_download_leaves_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        (tmp_path / "new").mkdir()
        raise OSError("no route to host")

    monkeypatch.setattr(load_datasets().CIFAR10, "download", fail)
    with pytest.raises(InputError, match="could not be downloaded"):
        read_cifar10(tmp_path / "new", download=True)
    assert not (tmp_path / "new").exists()


@pytest.mark.filterwarnings("ignore:.*checksums")
def test_files_of_published_size_with_other_checksums_are_read_safely(
    make_cifar: MakeCifar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esper.tolaria.cifar._PUBLISHED_MIN_BYTES", 0)
    folder = make_cifar(records=2)
    (folder / "cifar-10-batches-py" / "batches.meta").write_bytes(pickle.dumps({}))
    images, *_ = read_cifar10(folder)
    assert len(images) == 10


@pytest.mark.slow
def test_files_with_the_published_checksums_are_read_through_torchvision(published_cifar: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images, labels, test_images, test_labels = read_cifar10(published_cifar)
    expected = pickle.loads((published_cifar / "cifar-10-batches-py" / "data_batch_1").read_bytes())
    assert (len(images), len(test_images), len(test_labels)) == (50_000, 10_000, 10_000)
    np.testing.assert_array_equal(images[:10_000].reshape(10_000, -1), expected["data"])
    assert labels[:10_000].tolist() == expected["labels"]


def test_the_bytes_are_these() -> None:
    images, labels = generate(1_500)
    digest = hashlib.sha256(images.tobytes() + labels.astype("<i8").tobytes()).hexdigest()
    assert digest == "47fa39eed050fe33dcf1a340a1136b6aba984d493d4447db2d111702deb67bd4"


def test_no_rounded_sine_is_near_a_half_so_that_every_libm_agrees() -> None:
    values = [127 * math.sin(2 * math.pi * step / 256) for step in range(256)]
    assert min(abs(abs(value) % 1 - 0.5) for value in values) > 1e-6


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
