"""A run that is watched through a pipe, stopped, or out of space."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from esper.scripts.train import main
from esper.simic.agent import PPOAgent
from esper.tolaria.cifar import synthetic_folder
from tests.esper.limits import file_size_limit

TINY = ["ppo", "--preset", "cifar_minimal", "--rounds", "2", "--envs", "1", "--episode-length", "2"]
TINY += ["--train-images", "32", "--val-images", "16"]
COMMAND = [sys.executable, "-m", "esper.scripts.train"]


def _heed_interrupts() -> None:
    # A job in the background of a script is started with interrupts ignored, and so are its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_stopped_run_has_printed_its_rounds_and_keeps_them(tmp_path: Path) -> None:
    save = tmp_path / "p.pt"
    argv = [*COMMAND, *TINY, "--rounds", "5000", "--save", str(save)]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_interrupts
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        shown = [run.stdout.readline() for _ in range(4)]
        run.send_signal(signal.SIGINT)
        errors = run.stderr.read()
    assert run.returncode == 130
    assert [line.split()[0] for line in shown] == ["cifar_minimal:", "round", "0", "1"]
    assert errors == f"interrupted; --resume {save} goes on from the last finished round\n"
    assert PPOAgent.load(save)[1]["rounds"] >= 1


def test_a_checkpoint_that_does_not_fit_is_one_line_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save = tmp_path / "p.pt"
    assert main([*TINY, "--quiet", "--rounds", "1", "--save", str(save)]) == 0
    before = save.read_bytes()
    with file_size_limit(100_000):
        status = main([*TINY, "--quiet", "--resume", str(save), "--save", str(save)])
    assert status == 1
    assert capsys.readouterr().err == (
        f"error: --save {save}: can't be written (File too large); what was saved there before is intact\n"
    )
    assert save.read_bytes() == before
    assert main([*TINY, "--quiet", "--resume", str(save), "--save", str(save)]) == 0


def test_telemetry_that_does_not_fit_is_one_line_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    synthetic_folder()  # the images, made once per cache folder, are not what is cut short
    with file_size_limit(3_000):
        assert main([*TINY, "--quiet", "--telemetry-dir", str(tmp_path)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"error: --telemetry-dir {tmp_path}: events.jsonl cannot be written any more (File"
    )
    whole = (tmp_path / "events.jsonl").read_text().splitlines()[:-1]
    assert json.loads(whole[0])["event_type"] == "RUN_STARTED"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_one_line_and_status_1() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *TINY], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: standard output: cannot be written any more (No space left on device); --quiet needs none\n"
    )


@pytest.mark.parametrize(
    ("command", "content", "message"),
    [
        (
            "ppo",
            '{"policy": "heuristic"}',
            "policy heuristic contradicts the sub-command ppo; leave it out",
        ),
        (
            "heuristic",
            '{"policy": "ppo"}',
            "policy ppo contradicts the sub-command heuristic;",
        ),
        (
            "ppo",
            '{"reward_family": "loss", "reward_mode": "sparse"}',
            "--reward-mode sparse: --",
        ),
        (
            "ppo",
            '{"reward_family": "loss", "reward_mode": "shaped"}',
            "--reward-mode shaped: --",
        ),
    ],
)
def test_a_file_that_contradicts_itself_or_the_command_is_refused(
    tmp_path: Path, command: str, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    assert main([command, "--config-json", str(path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: --config-json {path}: {message}")


@pytest.mark.parametrize("mode", ["sparse", "shaped"])
def test_a_mode_of_a_reward_that_has_none_is_refused(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ppo", "--reward-family", "loss", "--reward-mode", mode]) == 2
    assert capsys.readouterr().err == (
        f"error: --reward-mode {mode}: --reward-family loss has no modes; leave one of them out\n"
    )


def test_what_cannot_be_resumed_names_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--quiet", "--resume", str(tmp_path / "none.pt")]) == 2
    assert capsys.readouterr().err == (
        f"error: --resume {tmp_path / 'none.pt'}: no such file; give one that a run saved\n"
    )


def test_unpublished_data_is_told_once_though_it_is_read_twice(
    make_cifar: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*TINY, "--rounds", "1", "--train-images", "16", "--val-images", "8", "--quiet"]
    assert main([*argv, "--data-dir", str(make_cifar(records=8)), "--dual-ab", "sparse"]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: ")
