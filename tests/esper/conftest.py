"""Small CIFAR-10 folders, and a cache folder of the tests' own."""

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from esper.tolaria.torchvision_loader import load_datasets

BATCH_FILES = (*(f"data_batch_{index}" for index in range(1, 6)), "test_batch")


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for the session, so that the synthetic images are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _own_cache(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))


def batch_entry(records: int, seed: int = 0) -> dict[bytes, object]:
    """The content of a batch file of random images."""
    rng = np.random.default_rng(seed)
    return {
        b"batch_label": b"test",
        b"labels": rng.integers(0, 10, records).tolist(),
        b"data": rng.integers(0, 256, (records, 3072), dtype=np.uint8),
        b"filenames": [],
    }


@pytest.fixture
def make_cifar(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder in CIFAR-10's python format, a few random images per file; keys replace a file."""

    def make(records: int = 8, **replaced: bytes | None) -> Path:
        folder = tmp_path / "data"
        batches = folder / "cifar-10-batches-py"
        batches.mkdir(parents=True)
        for seed, name in enumerate(BATCH_FILES):
            content = replaced.get(name, pickle.dumps(batch_entry(records, seed), protocol=2))
            if content is not None:
                (batches / name).write_bytes(content)
        return folder

    return make


@pytest.fixture
def published_cifar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the published names and sizes; torchvision takes its checksums for the published ones."""
    folder = tmp_path / "published"
    batches = folder / "cifar-10-batches-py"
    batches.mkdir(parents=True)
    entry = {key.decode(): value for key, value in batch_entry(10_000).items()}
    content = pickle.dumps(entry, protocol=2)
    meta = pickle.dumps({"label_names": [str(label) for label in range(10)]}, protocol=2)
    (batches / "batches.meta").write_bytes(meta)
    (batches / BATCH_FILES[0]).write_bytes(content)
    for name in BATCH_FILES[1:]:
        os.link(batches / BATCH_FILES[0], batches / name)
    dataset, digest = load_datasets().CIFAR10, hashlib.md5(content).hexdigest()
    for part in ("train_list", "test_list"):
        monkeypatch.setattr(dataset, part, [[name, digest] for name, _ in getattr(dataset, part)])
    monkeypatch.setattr(dataset, "meta", dataset.meta | {"md5": hashlib.md5(meta).hexdigest()})
    return folder
