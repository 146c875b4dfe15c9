"""What many processes can't do is told once, in one line."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from esper.scripts.train import main
from esper.tolaria import distributed_engine
from tests.esper.distributed.processes import run

TINY = ["ppo", "--task", "cifar_minimal", "--rounds", "1", "--envs", "2", "--episode-length", "1"]
TINY += ["--train-images", "24", "--val-images", "24", "--quiet"]


@pytest.mark.parametrize(
    ("environment", "argv", "message"),
    [
        (
            {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "0"},
            ["--engine", "plain"],
            "error: rank 1: --engine plain: trains in one process, and 2 were started; pass "
            "--engine distributed, or start one",
        ),
        (
            {},
            ["--engine", "distributed"],
            "error: --engine distributed: there is no process group; start it with torchrun: torchrun "
            "--standalone --nproc-per-node 2 -m esper.scripts.train ...",
        ),
        (
            {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"},
            ["--engine", "distributed", "--data-dir", "data", "--download"],
            "error: --download: with many processes, fetch the data by a run of one process first",
        ),
    ],
)
def test_what_was_started_does_not_fit(
    environment: dict[str, str],
    argv: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main([*TINY, *argv]) == 2
    assert capsys.readouterr().err.splitlines() == [message]
    monkeypatch.setenv("LOCAL_RANK", "1")
    if environment:
        assert main([*TINY, *argv]) == 2
        assert capsys.readouterr().err == ""


def test_data_that_no_process_can_read(tmp_path: Path) -> None:
    ended = run([*TINY, "--data-dir", str(tmp_path / "nowhere")], 3, tmp_path / "errors")
    assert ended.statuses == (2, 2, 2)
    # All of them find out; whoever is the first says so.
    [line] = ended.lines
    assert re.match(rf"error: (rank [12]: )?--data-dir {re.escape(str(tmp_path / 'nowhere'))}: ", line)


def lacks_its_data(rank: int) -> None:
    def unreadable(*_: object) -> NoReturn:
        from esper.leyline.errors import InputError

        raise InputError("--data-dir here: is empty")

    if rank == 1:
        distributed_engine.VectorizedEngine = unreadable


def test_the_process_that_fails_says_why(tmp_path: Path) -> None:
    ended = run(TINY, 2, tmp_path / "errors", lacks_its_data)
    assert (ended.statuses, ended.lines) == ((3, 2), ["error: rank 1: --data-dir here: is empty"])


def fills_the_disk(rank: int) -> None:
    def full(_: int) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    os.fsync = full


def test_a_full_disk_ends_all(tmp_path: Path) -> None:
    saved = tmp_path / "p.pt"
    ended = run([*TINY, "--save", str(saved)], 2, tmp_path / "errors", fills_the_disk)
    assert ended.statuses == (1, 3)
    assert ended.lines == [
        f"error: --save {saved}: can't be written (No space left on device); nothing was saved there"
    ]


ALONE = """
import os, sys
from esper.scripts.train import main
ended = main(sys.argv[1:])
assert "torch.distributed.nn.functional" in sys.modules  # what would hold the group
print(ended, len(os.listdir("/proc/self/task")))
"""


@pytest.mark.slow
def test_no_thread_outlives_the_group() -> None:
    """One that does can abort the process when the interpreter ends."""
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", ALONE, *TINY, "--engine", "distributed"],
        env={**os.environ, **alone, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines()[-1:] == ["0 1"], ended.stderr
