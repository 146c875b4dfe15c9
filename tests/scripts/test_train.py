"""The command line: exit statuses, one clear line per error, nothing half-written."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esper.leyline.errors import InputError
from esper.leyline.task import TaskSpec
from esper.leyline.telemetry import RoundStarted, TelemetryEvent
from esper.nissa import get_hub, read_events
from esper.scripts.train import main
from esper.simic.training.config import TrainingConfig, flag_name, flags
from examples.monolith.vectorized import train_ppo_vectorized


class Recorded:
    """Stands in for training; remembers what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[TrainingConfig, TaskSpec]] = []

    def __call__(self, config: TrainingConfig, task_spec: TaskSpec) -> Any:
        self.calls.append((config, task_spec))


def configured(*argv: str, command: str = "ppo") -> TrainingConfig:
    """The configuration that a command line makes."""
    train = Recorded()
    assert main([command, *argv], train=train) == 0
    [(config, task_spec)] = train.calls
    assert task_spec.name == config.task
    return config


def test_every_field_is_a_flag_and_the_list_of_flags_is_this(capsys: pytest.CaptureFixture[str]) -> None:
    assert [flag_name(name) for name, flag in flags().items() if flag.commands] == [
        "--task",
        "--rounds",
        "--envs",
        "--episode-length",
        "--learning-rate",
        "--clip",
        "--discount",
        "--gae-lambda",
        "--target-kl",
        "--hidden-size",
        "--max-grad-norm",
        "--ppo-epochs",
        "--minibatches",
        "--value-coef",
        "--entropy-start",
        "--entropy-end",
        "--entropy-anneal-episodes",
        "--seed",
        "--device",
        "--devices",
        "--amp",
        "--amp-dtype",
        "--compile-mode",
        "--slots",
        "--max-seeds",
        "--gates",
        "--auto-forward",
        "--governor-threshold",
        "--reward-family",
        "--reward-mode",
        "--dual-ab",
        "--data-dir",
        "--download",
        "--train-images",
        "--val-images",
        "--num-workers",
        "--gpu-preload",
        "--gpu-preload-augment",
        "--engine",
        "--host-parallel",
        "--rank-timeout",
        "--telemetry-dir",
        "--telemetry-outputs",
        "--telemetry-level",
        "--gradient-stride",
        "--save",
        "--resume",
        "--no-progress",
        "--quiet",
    ]
    for command in ("ppo", "heuristic"):
        assert main([command, "--help"], train=Recorded()) == 0
        shown = capsys.readouterr().out
        for name, flag in flags().items():
            assert (f"{flag_name(name)} " in shown) == (command in flag.commands), name


def test_flags_become_fields_of_their_types(tmp_path: Path) -> None:
    config = configured(
        *("--task", "cifar_minimal", "--envs", "3", "--slots", "r0c0, r0c2", "--amp", "--quiet"),
        *("--entropy-start", "0.2", "--data-dir", str(tmp_path), "--reward-mode", "sparse"),
    )
    assert (config.task, config.envs, config.slots) == ("cifar_minimal", 3, ("r0c0", "r0c2"))
    assert (config.amp, config.quiet, config.download) == (True, True, False)
    assert (config.entropy_start, config.data_dir, config.reward_mode) == (0.2, tmp_path, "sparse")


def test_the_sub_command_says_who_acts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert configured().policy == "ppo"
    assert configured("--gates", "strict", command="heuristic").policy == "heuristic"
    path = tmp_path / "config.json"
    path.write_text('{"save": "p.pt"}')
    assert main(["heuristic", "--config-json", str(path)], train=Recorded()) == 2
    assert capsys.readouterr().err == (
        f"error: --config-json {path}: --save: a rule-based policy has no use for it\n"
    )


def test_a_flag_wins_over_a_file_and_a_file_over_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"envs": 5, "rounds": 7, "slots": ["r0c1"], "save": "x.pt"}))
    config = configured(
        "--preset", "cifar_minimal", "--config-json", str(path), "--rounds", "9", "--save", "y"
    )
    assert (config.task, config.envs, config.rounds) == ("cifar_minimal", 5, 9)
    assert (config.slots, config.save) == (("r0c1",), Path("y"))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--envs", "many"], "error: Invalid value for '--envs': 'many' is not a valid integer."),
        (["--envs", "0"], "error: --envs 0: input should be greater than or equal to 1"),
        (["--seed", "-1"], "error: --seed -1: input should be greater than or equal to 0"),
        (["--envs", "1000000"], "error: --envs 1000000: input should be less than or equal to 1024"),
        (["--episode-length", "9" * 25], f"error: --episode-length {'9' * 25}: input should be less than"),
        (["--entropy-start", "nan"], "error: --entropy-start nan: input should be a finite number"),
        (["--entropy-end", "inf"], "error: --entropy-end inf: input should be a finite number"),
        (["--governor-threshold", "0"], "error: --governor-threshold 0.0: input should be greater than 0"),
        (["--amp-dtype", "float8"], "error: --amp-dtype float8: input should be 'bfloat16' or 'float16'"),
        (["--auto-forward", "some"], "error: --auto-forward some: input should be 'none', 'timed' or 'all'"),
        (["--reward-mode", "kind"], "error: --reward-mode kind: input should be 'shaped', 'escrow', "),
        (["--workers", "3"], "error: No such option '--workers'."),
        (["--num-workers", "-1"], "error: --num-workers -1: input should be greater than or equal to 0"),
        (["--task", "chess"], "error: --task chess: no such task; known are cifar_baseline, cifar_scale"),
        (["--preset", "x"], "error: --preset x: no such preset; known are cifar_baseline, cifar_scale"),
        (["--save", "/nowhere/policy.pt"], "error: --save /nowhere/policy.pt: no folder /nowhere; make it"),
        (["--save", "/"], "error: --save /: is a folder; name a file"),
        (["--config-json", "/nowhere.json"], "error: --config-json /nowhere.json: cannot be read (No such"),
        (["extra"], "error: Got unexpected extra argument (extra)"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    train = Recorded()
    assert main(["ppo", *argv], train=train) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(message)
    assert train.calls == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "must hold one object, not a list"),
        ("[" * 100_000, "not JSON"),
        ('{"envs": 1, "envs": 2}', "not JSON ('envs' is there twice)"),
        ('{"entropy_start": 1e999}', "--entropy-start inf: input should be a finite number"),
        ('{"env": 3}', "unknown setting 'env'; did you mean envs?"),
        ('{"xyz": 3}', "unknown setting 'xyz'; known are task, rounds, envs"),
        ('{"envs": "3"}', "--envs 3: input should be a valid integer"),
        ('{"envs": 0}', "--envs 0: input should be greater than or equal to 1"),
        ('{"amp": 1}', "--amp 1: input should be a valid boolean"),
    ],
)
def test_a_wrong_config_file_is_one_line_and_status_2(
    tmp_path: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    assert main(["ppo", "--config-json", str(path)], train=Recorded()) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: --config-json {path}: ")
    assert message in line


def test_an_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dqn"], train=Recorded()) == 2
    assert capsys.readouterr().err.startswith("error: No such command 'dqn'")


TINY = ["ppo", "--preset", "cifar_minimal", "--rounds", "1", "--envs", "1", "--episode-length", "2"]
TINY += ["--train-images", "32", "--val-images", "16"]


def test_a_run_writes_events_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--telemetry-dir", str(tmp_path / "run")], train=train_ppo_vectorized) == 0
    lines = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert events[0]["event_type"] == "RUN_STARTED"
    assert events[-1]["event_type"] == "RUN_COMPLETED"
    assert "best validation accuracy" in capsys.readouterr().out


def test_events_of_an_earlier_run_are_refused_and_resuming_adds_to_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--quiet", "--telemetry-dir", str(tmp_path / "run"), "--save", str(tmp_path / "p.pt")]
    assert main([*TINY, *where], train=train_ppo_vectorized) == 0
    before = (tmp_path / "run" / "events.jsonl").read_text()
    assert main([*TINY, *where], train=train_ppo_vectorized) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"error: --telemetry-dir {tmp_path / 'run'}: has the events.jsonl of an earlier run"
    )
    assert (tmp_path / "run" / "events.jsonl").read_text() == before
    again = [*TINY, *where, "--rounds", "2", "--resume", str(tmp_path / "p.pt")]
    assert main(again, train=train_ppo_vectorized) == 0
    events = list(read_events(tmp_path / "run" / "events.jsonl"))
    starts = [event.data.first_round for event in events if event.event_type == "RUN_STARTED"]
    assert starts == [0, 1]
    assert (tmp_path / "run" / "events.jsonl").read_text().startswith(before)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["tensorboard"],
            "error: --telemetry-outputs tensorboard: needs a folder to write to; pass --telemetry-dir",
        ),
        (
            ["mine", "--telemetry-dir", "run"],
            "error: --telemetry-outputs mine: no such output; known are tensorboard",
        ),
    ],
)
def test_an_output_that_cannot_be_had_is_one_line(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    train = Recorded()
    assert main(["ppo", "--quiet", "--telemetry-outputs", *argv], train=train) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(message)
    assert train.calls == []


def test_quiet_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--quiet", "--save", str(tmp_path / "p.pt")], train=train_ppo_vectorized) == 0
    assert capsys.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["p.pt"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--data-dir", "/nowhere"], "error: --data-dir /nowhere: no such folder; pass --download"),
        (["--slots", "r7c7"], "error: --slots: no slot 'r7c7'; the host has r0c0, r0c1, r0c2"),
        (["--slots", "r0c0,r0c1,r0c0"], "error: --slots: r0c0 is given twice"),
        (["--max-seeds", "99"], "error: --max-seeds 99: a slot holds one seed, and seeds may grow in 3 "),
        (
            ["--slots", "r0c1", "--max-seeds", "2"],
            "error: --max-seeds 2: a slot holds one seed, and seeds may",
        ),
        (["--gpu-preload-augment"], "error: --gpu-preload-augment: needs --gpu-preload"),
        (["--task", "char_lm", "--data-dir", "x"], "error: --data-dir x: task char_lm generates its text"),
        (["--device", "abacus"], "error: --device abacus: not a device; use cpu, cuda or cuda:N"),
        (["--device", "meta"], "error: --device meta: not supported; use cpu, cuda or cuda:N"),
        (["--device", "cuda:99"], "error: --device cuda:99: this machine has"),
        (["--resume", "/nowhere.pt"], "error: /nowhere.pt"),
        (["--train-images", "9999"], "error: --train-images 9999: the data has only 5000"),
    ],
)
def test_what_only_the_trainer_can_refuse_leaves_nothing_behind(
    tmp_path: Path, argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--telemetry-dir", str(tmp_path / "run"), "--save", str(tmp_path / "p.pt")]
    assert main([*TINY, *where, *argv], train=train_ppo_vectorized) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    argv = [*TINY, "--telemetry-dir", str(tmp_path / "file" / "run")]
    assert main(argv, train=train_ppo_vectorized) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: --telemetry-dir")
    assert "events.jsonl cannot be written there" in line


def test_data_that_is_not_the_published_one_is_a_warning_of_one_line(
    make_cifar: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*TINY[:-4], "--train-images", "16", "--val-images", "8", "--quiet"]
    assert main([*argv, "--data-dir", str(make_cifar(records=8))], train=train_ppo_vectorized) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: ")
    assert "the checksums are not those of the published CIFAR-10" in line


def test_a_run_on_the_published_data_warns_of_nothing(
    published_cifar: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TINY, "--data-dir", str(published_cifar)], train=train_ppo_vectorized) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "best validation accuracy" in printed.out


def test_an_interrupted_run_exits_130_and_keeps_its_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(config: TrainingConfig, task_spec: TaskSpec) -> Any:
        get_hub().emit(TelemetryEvent(RoundStarted(env_seeds=(1,), entropy_coef=0.0), round=0))
        raise KeyboardInterrupt

    argv = ["ppo", "--quiet", "--telemetry-dir", str(tmp_path)]
    assert main(argv, train=interrupted) == 130
    assert capsys.readouterr().err.strip() == "interrupted"
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 1


def test_an_error_of_the_trainer_is_not_swallowed() -> None:
    def broken(config: TrainingConfig, task_spec: TaskSpec) -> Any:
        raise InputError("data: what, where, why")

    assert main(["ppo", "--quiet"], train=broken) == 2
    with pytest.raises(ZeroDivisionError):
        main(["ppo", "--quiet"], train=lambda config, task: 1 // 0)  # type: ignore[arg-type,return-value]


def test_help_and_refusals_do_not_wait_for_torch() -> None:
    program = (
        "import sys; from esper.scripts.train import main; "
        "status = main(['ppo', '--task', 'x'], train=print); print(status, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"


def test_the_module_of_the_single_file_trainer_runs_the_same_command_line() -> None:
    argv = [sys.executable, "-m", "examples.monolith.train", "ppo", "--rounds", "0"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --rounds 0: input should be greater than or equal to 1\n"
