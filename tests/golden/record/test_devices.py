"""One run per GPU: shown with lock files, no GPU needed."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from golden.record.devices import locked_device, visible_devices
from golden.trace.fingerprint import driver, fingerprint
from golden.trace.trace import deciding


def test_two_runs_take_two_devices_and_the_third_waits(tmp_path: Path) -> None:
    taken: list[dict[str, str]] = []

    def third() -> None:
        with locked_device("cuda", ["4", "GPU-a"], folder=tmp_path) as placed:
            taken.append(placed)

    with locked_device("cuda", ["4", "GPU-a"], folder=tmp_path) as first:
        with locked_device("cuda", ["4", "GPU-a"], folder=tmp_path) as second:
            thread = threading.Thread(target=third)
            thread.start()
            thread.join(0.5)
            assert thread.is_alive()
        thread.join()
    assert [first, second, *taken] == [
        {"CUDA_VISIBLE_DEVICES": "4"},
        {"CUDA_VISIBLE_DEVICES": "GPU-a"},
        {"CUDA_VISIBLE_DEVICES": "GPU-a"},
    ]


def test_a_device_by_number_and_no_device(tmp_path: Path) -> None:
    with locked_device("cuda:1", ["4", "GPU-a"], folder=tmp_path) as placed:
        assert placed == {}
        assert (tmp_path / "golden-cuda-GPU-a.lock").exists()
    with locked_device("cpu", ["4"], folder=tmp_path) as placed:
        assert placed == {}
    assert not (tmp_path / "golden-cuda-4.lock").exists()


def test_a_run_that_dies_lets_go(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from golden.record.devices import locked_device\n"
        "with locked_device('cuda', ['0'], folder=Path(sys.argv[1])): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    with locked_device("cuda", ["0"], folder=tmp_path) as placed:
        assert placed == {"CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize(("named", "expected"), [(None, ["0", "1"]), ("3, GPU-b", ["3", "GPU-b"]), ("", [])])
def test_devices_of_the_caller(
    named: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert visible_devices(2) == expected


def test_version_of_the_driver(tmp_path: Path) -> None:
    version = tmp_path / "version"
    assert driver(version) == "unknown"
    version.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
        "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
    )
    assert driver(version) == "550.54.15"


def test_fingerprint_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another driver is another fingerprint: it brings other kernels."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "NVIDIA H200")
    prints = []
    for version in ("550.54.15", "570.86.10"):
        monkeypatch.setattr("golden.trace.fingerprint.driver", lambda version=version: version)
        prints.append(deciding({**fingerprint("cuda:0", "exact"), "canary": "0"}))
    assert prints[0] == {**prints[1], "driver": "550.54.15"}
    assert prints[0]["gpu"] == "NVIDIA H200"
    assert "driver" not in fingerprint("cpu", "exact")
