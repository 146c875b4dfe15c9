"""A process is killed, hangs or is asked to end: the others end soon, one line says why, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from esper.scripts.train import main
from esper.simic.agent import PPOAgent
from esper.simic.training import vectorized
from esper.tolaria import engine
from tests.esper.distributed.processes import SECONDS, Started, start
from tests.esper.records import checkpoint, events, same

# One worker makes the runs that these tests share.
pytestmark = [pytest.mark.xdist_group("faults"), pytest.mark.slow]
SIZE = 3
TINY = ["ppo", "--task", "cifar_minimal", "--rounds", "3", "--envs", "3", "--episode-length", "2"]
TINY += ["--train-images", "24", "--val-images", "24", "--seed", "5", "--quiet"]


@dataclass(frozen=True)
class Strike:
    """Sends a signal to a process where it, or rank 0, comes to a phase of the second round."""

    victim: int
    phase: str
    folder: Path
    number: int = signal.SIGKILL

    def __call__(self, rank: int) -> None:
        (self.folder / f"pid-{rank}").write_text(str(os.getpid()))
        if self.phase == "update" and rank == 0:
            self._at(PPOAgent, "update", 2)
        elif self.phase == "checkpoint" and rank == 0:
            self._at(os, "fsync", 3)
        elif rank == self.victim and self.phase in PHASES:
            self._at(engine.VectorizedEngine, self.phase, 3)

    def _at(self, owner: Any, name: str, count: int) -> None:
        act, calls = getattr(owner, name), []

        def struck(*given: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) == count:
                os.kill(int((self.folder / f"pid-{self.victim}").read_text()), self.number)
                time.sleep(0.2)
            return act(*given, **named)

        setattr(owner, name, struck)


PHASES = ("train", "validate", "observe", "execute")


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """The folder of a run that nothing happened to, of one process."""
    folder = tmp_path_factory.mktemp("through")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache_home))
        assert main([*TINY, "--telemetry-dir", str(folder), "--save", str(folder / "p.pt")]) == 0
    return folder


def goes_on(folder: Path, through: Path) -> None:
    """A run resumed from what was saved comes to what one that nothing happened to came to."""
    rest, saved = folder / "rest", str(folder / "p.pt")
    done = checkpoint(folder / "p.pt")["extra"]["rounds"]
    assert 1 <= done < 3
    assert main([*TINY, "--resume", saved, "--save", saved, "--telemetry-dir", str(rest)]) == 0
    assert [e for e in events(rest) if e["round"] is not None] == [
        e for e in events(through) if e["round"] is not None and e["round"] >= done
    ]
    assert same(checkpoint(folder / "p.pt"), checkpoint(through / "p.pt"))


# Each rank, and every other phase; each rank in each phase by RANKS=all.
ALL_PHASES = [*PHASES, "update", "checkpoint"]
KILLED = [(i % SIZE, phase) for i, phase in enumerate(ALL_PHASES[::2])]
if os.environ.get("RANKS") == "all":
    KILLED = [(victim, phase) for phase in ALL_PHASES for victim in range(SIZE)]


@pytest.mark.parametrize(("victim", "phase"), KILLED)
def test_a_process_is_killed(victim: int, phase: str, through: Path, tmp_path: Path) -> None:
    saved = tmp_path / "p.pt"
    argv = [*TINY, "--save", str(saved), "--telemetry-dir", str(tmp_path)]
    ended = start(argv, SIZE, tmp_path / "errors", Strike(victim, phase, tmp_path)).wait()
    assert ended.statuses[victim] == -signal.SIGKILL
    assert {status for rank, status in enumerate(ended.statuses) if rank != victim} == {3}
    [line] = ended.lines
    assert line == (f"error: rank {victim} is gone; --resume {saved} goes on from the last finished round")
    assert len(events(tmp_path)) > 0  # every line is whole
    goes_on(tmp_path, through)


def until(started: Started, path: Path, text: str) -> None:
    """Wait until a file has a text."""
    for _ in range(int(SECONDS * 10)):
        if path.exists() and text in path.read_text():
            return
        assert all(process.is_alive() for process in started.processes), started.wait()
        time.sleep(0.1)
    raise AssertionError(f"{path} never had {text}")


@pytest.mark.parametrize("killed", [None, 0, 1])
def test_all_are_asked_to_end_as_torchrun_does(killed: int | None, through: Path, tmp_path: Path) -> None:
    saved = tmp_path / "p.pt"
    argv = [*TINY, "--rounds", "1000", "--save", str(saved), "--telemetry-dir", str(tmp_path)]
    started = start(argv, SIZE, tmp_path / "errors")
    until(started, tmp_path / "events.jsonl", '"round": 1')
    if killed is not None:
        started.processes[killed].kill()
        started.processes[killed].join()
    for process in started.processes:
        process.terminate()
    ended = started.wait()
    if killed is None:
        # Who hears of another's end before its own signal ends by that.
        assert set(ended.statuses) <= {143, 3}
        assert ended.lines == []
    else:
        assert {status for rank, status in enumerate(ended.statuses) if rank != killed} == {3}
        [line] = ended.lines
        assert line.startswith(f"error: rank {killed} is gone; --resume {saved} goes on")
    assert checkpoint(saved)["extra"]["rounds"] >= 1


@dataclass(frozen=True)
class AskedWhileItEnds:
    """Rank 1 is killed; so many steps of Python after rank 0's connection broke, SIGTERM comes to rank 0."""

    steps: int
    folder: Path

    def __call__(self, rank: int) -> None:
        def train(*_: Any) -> NoReturn:
            (self.folder / f"pid-{rank}").write_text(str(os.getpid()))
            if rank == 1:
                time.sleep(SECONDS)
            until_gone(self.folder / "pid-1")
            left, frame = [self.steps], sys._getframe()

            def traced(*_: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGTERM)
                return traced

            while frame.f_back is not None:
                frame = frame.f_back
                frame.f_trace = traced
            sys.settrace(traced)
            raise RuntimeError("Connection closed by peer")

        vectorized.train_ppo_vectorized = train


def until_gone(path: Path) -> None:
    """Kill the process whose number a file has, and wait until it is gone."""
    while not (path.exists() and path.read_text()):
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        while True:
            os.kill(int(path.read_text()), signal.SIGKILL)
            time.sleep(0.01)


@pytest.mark.parametrize("steps", range(1, 12))
def test_who_is_asked_to_end_while_it_ends_says_why(steps: int, tmp_path: Path) -> None:
    ended = start(TINY, 2, tmp_path / "errors", AskedWhileItEnds(steps, tmp_path)).wait()
    assert ended.statuses == (3, -signal.SIGKILL)
    assert ended.lines == ["error: rank 1 is gone"]


def test_ctrl_c_is_told_once(tmp_path: Path) -> None:
    saved = tmp_path / "p.pt"
    argv = [*TINY, "--rounds", "1000", "--save", str(saved), "--telemetry-dir", str(tmp_path)]
    started = start(argv, SIZE, tmp_path / "errors")
    until(started, tmp_path / "events.jsonl", '"round": 1')
    for process in started.processes:
        os.kill(process.pid or 0, signal.SIGINT)
    ended = started.wait()
    assert ended.lines == [f"interrupted; --resume {saved} goes on from the last finished round"]
    assert set(ended.statuses) <= {130, 3}


def test_torchrun_starts_a_run_again_and_it_goes_on(through: Path, tmp_path: Path) -> None:
    saved = tmp_path / "p.pt"
    script = Path(__file__).with_name("once_killed.py")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ended = subprocess.run(
        [
            *torchrun,
            "--max-restarts",
            "1",
            str(script),
            *TINY,
            "--engine",
            "distributed",
            "--save",
            str(saved),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert lines == [f"error: rank 1 is gone; --resume {saved} goes on from the last finished round"]
    assert same(checkpoint(saved), checkpoint(through / "p.pt"))


def test_a_process_that_hangs_is_named_when_time_is_up(tmp_path: Path) -> None:
    strike = Strike(1, "observe", tmp_path, signal.SIGSTOP)
    started = start([*TINY, "--rank-timeout", "10"], SIZE, tmp_path / "errors", strike)
    for rank in (0, 2):
        started.processes[rank].join(SECONDS)
    started.processes[1].kill()
    ended = started.wait()
    assert ended.statuses == (3, -signal.SIGKILL, 3)
    assert ended.lines == ["error: rank 1 gave no answer in time"]
