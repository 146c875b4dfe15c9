"""The command line: exit statuses, one clear line per error, nothing half-written."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esper.leyline.errors import InputError
from esper.leyline.task import TaskSpec
from esper.nissa import read_events
from esper.scripts.train import main
from esper.simic.agent import PPOAgent
from esper.simic.training.config import TrainingConfig, flag_name, flags
from esper.tolaria.cifar import synthetic_folder
from examples.monolith.vectorized import train_ppo_vectorized
from tests.esper.limits import file_size_limit


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


FLAGS = """
--task --rounds --envs --episode-length --learning-rate --clip --discount --gae-lambda --target-kl
--hidden-size --max-grad-norm --ppo-epochs --minibatches --value-coef --entropy-start --entropy-end
--entropy-anneal-episodes --seed --device --devices --amp --amp-dtype --compile-mode --slots --max-seeds
--gates --auto-forward --governor-threshold --reward-family --reward-mode --dual-ab --data-dir
--download --train-images --val-images --num-workers --gpu-preload --gpu-preload-augment --engine
--host-parallel --rank-timeout --telemetry-dir --telemetry-outputs --telemetry-level --gradient-stride
--save --resume --no-progress --quiet
"""


def test_every_field_is_a_flag_and_the_list_of_flags_is_this(capsys: pytest.CaptureFixture[str]) -> None:
    known = [flag_name(name) for name, flag in flags().items() if flag.commands]
    assert known == FLAGS.split()
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
        (["--envs", "1000000"], "error: --envs 1000000: input should be less than or equal to 1024"),
        (["--entropy-start", "nan"], "error: --entropy-start nan: input should be a finite number"),
        (["--governor-threshold", "0"], "error: --governor-threshold 0.0: input should be greater than 0"),
        (["--reward-mode", "kind"], "error: --reward-mode kind: input should be 'shaped', 'escrow', "),
        (["--workers", "3"], "error: No such option '--workers'."),
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
        ('{"envs": 1, "envs": 2}', "not JSON ('envs' is there twice)"),
        ('{"entropy_start": 1e999}', "--entropy-start inf: input should be a finite number"),
        ('{"env": 3}', "unknown setting 'env'; did you mean envs?"),
        ('{"envs": "3"}', "--envs 3: input should be a valid integer"),
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


TINY = ["ppo", "--preset", "cifar_minimal", "--rounds", "1", "--envs", "1", "--episode-length", "2"]
TINY += ["--train-images", "32", "--val-images", "16"]


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
        (
            ["--slots", "r0c1", "--max-seeds", "2"],
            "error: --max-seeds 2: a slot holds one seed, and seeds may",
        ),
        (["--gpu-preload-augment"], "error: --gpu-preload-augment: needs --gpu-preload"),
        (["--task", "char_lm", "--data-dir", "x"], "error: --data-dir x: task char_lm generates its text"),
        (["--device", "abacus"], "error: --device abacus: not a device; use cpu, cuda or cuda:N"),
        (["--device", "meta"], "error: --device meta: not supported; use cpu, cuda or cuda:N"),
        (["--device", "cuda:99"], "error: --device cuda:99: this machine has"),
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


TWICE = [*TINY, "--rounds", "2"]
COMMAND = [sys.executable, "-m", "esper.scripts.train"]


def _heed_interrupts() -> None:
    # A job in the background of a script is started with interrupts ignored, and so are its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_a_stopped_run_has_printed_its_rounds_and_keeps_them(tmp_path: Path) -> None:
    save = tmp_path / "p.pt"
    argv = [*COMMAND, *TWICE, "--rounds", "5000", "--save", str(save)]
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
    assert main([*TWICE, "--quiet", "--rounds", "1", "--save", str(save)]) == 0
    before = save.read_bytes()
    with file_size_limit(100_000):
        status = main([*TWICE, "--quiet", "--resume", str(save), "--save", str(save)])
    assert status == 1
    assert capsys.readouterr().err == (
        f"error: --save {save}: can't be written (File too large); what was saved there before is intact\n"
    )
    assert save.read_bytes() == before
    assert main([*TWICE, "--quiet", "--resume", str(save), "--save", str(save)]) == 0


def test_telemetry_that_does_not_fit_is_one_line_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    synthetic_folder()  # the images, made once per cache folder, are not what is cut short
    with file_size_limit(3_000):
        assert main([*TWICE, "--quiet", "--telemetry-dir", str(tmp_path)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"error: --telemetry-dir {tmp_path}: events.jsonl cannot be written any more (File"
    )
    whole = (tmp_path / "events.jsonl").read_text().splitlines()[:-1]
    assert json.loads(whole[0])["event_type"] == "RUN_STARTED"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_one_line_and_status_1() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *TWICE], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: standard output: cannot be written any more (No space left on device); --quiet needs none\n"
    )


LOSS = '{"reward_family": "loss", "reward_mode": "%s"}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"policy": "heuristic"}', "policy heuristic contradicts the sub-command ppo; leave it out"),
        (LOSS % "sparse", "--reward-mode sparse: --reward-family loss has no modes; leave one of them out"),
        (LOSS % "shaped", "--reward-mode shaped: --reward-family loss has no modes; leave one of them out"),
    ],
)
def test_a_file_that_contradicts_itself_or_the_command_is_refused(
    tmp_path: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    assert main(["ppo", "--config-json", str(path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: --config-json {path}: {message}")


@pytest.mark.parametrize("mode", ["sparse", "shaped"])
def test_a_mode_of_a_reward_that_has_none_is_refused(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ppo", "--reward-family", "loss", "--reward-mode", mode]) == 2
    assert capsys.readouterr().err == (
        f"error: --reward-mode {mode}: --reward-family loss has no modes; leave one of them out\n"
    )


def test_what_cannot_be_resumed_names_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TWICE, "--quiet", "--resume", str(tmp_path / "none.pt")]) == 2
    assert capsys.readouterr().err == (
        f"error: --resume {tmp_path / 'none.pt'}: no such file; give one that a run saved\n"
    )


def test_unpublished_data_is_told_once_though_it_is_read_twice(
    make_cifar: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*TWICE, "--rounds", "1", "--train-images", "16", "--val-images", "8", "--quiet"]
    assert main([*argv, "--data-dir", str(make_cifar(records=8)), "--dual-ab", "sparse"]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: ")
