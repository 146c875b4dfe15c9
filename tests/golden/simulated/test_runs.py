"""Runs on simulated devices: what golden compares, and syncs, races and peak memory besides."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from golden.cli import main

TRAIN = """
import sys, torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)).to(sys.argv[1])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(4):
    loss = net(torch.randn(8, 4).to(sys.argv[1])).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    # AFTER
print(f"{loss.item():.6f}")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "golden" / "runs").mkdir(parents=True)
    (tmp_path / "golden" / "runs" / "train.toml").write_text(
        'command = ["python", "train.py", "{device}"]\nbudget = 5\n'
    )
    (tmp_path / "train.py").write_text(TRAIN)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.slow
def test_ab_compares_bits_and_syncs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Printed only once, so that nothing but the syncs and the reads of the host differ.
    (root / "train.py").write_text(TRAIN.replace("# AFTER", "kept = [loss.item() for _ in range(3)]"))
    assert main(["ab", "--root", str(root), "--device", "simulated", "--base", "HEAD", "train"]) == 1
    told = capsys.readouterr().out
    assert "+3 a step" in told
    assert "train.py:12" in told
    assert "races: 0 -> 0" in told
    assert "peak memory of cuda:0:" in told
    assert "host reads before step" in told
    (root / "train.py").write_text(TRAIN.replace("sys.argv[1]", '"cpu"'))
    main(["ab", "--root", str(root), "--device", "simulated", "--base", "HEAD", "train"])
    assert "syncs: not compared, since a side had no tensor on the device" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_file_names_the_device_and_the_bits_are_those_of_the_cpu(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = root / "golden" / "runs" / "train.toml"
    (root / "golden" / "runs" / "gpu.toml").write_text(run.read_text() + 'device = "simulated"\n')
    out = root / "out"
    assert main(["record", "--root", str(root), "-o", str(out), "train", "gpu"]) == 0
    # Where a run was is part of its fingerprint; the GPU has a random state besides.
    assert main(["diff", str(out / "train"), str(out / "gpu")]) == 4
    told = capsys.readouterr().out
    assert "device: cpu and simulated" in told
    assert "first divergence: random state" in told
    assert not re.search("gradient|parameter|buffer|absent", told)
    assert re.search(r"compared: .* 4 optimizer steps, [1-9]\d+ tensors", told)


def test_devices_that_are_none_are_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for device in ("simulated:0", "simulate"):
        assert main(["verify", "--root", str(root), "--device", device, "train"]) == 2
        assert "say cpu, cuda, cuda:N, simulated or simulated:N" in capsys.readouterr().err
