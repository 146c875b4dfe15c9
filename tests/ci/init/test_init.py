"""A first configuration for a repository that has none."""

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from ci.__main__ import main as golden_gate
from ci.config import load_config
from ci.init import main, trial
from codemods.hotpath.cli import main as hotpath
from golden.record import load_run
from tests import trees
from tests.trees import git

LOOP = """\
import argparse

import torch


def step(optimizer, loss):
    loss.backward()
    optimizer.step()
    return loss.item()


def fit(envs, optimizers):
    for env_idx, optimizer in enumerate(optimizers):
        step(optimizer, envs[env_idx].loss())
"""
SCRIPT = """\
import argparse

import torch

from app.loop import fit

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--random-seed", type=int)
    parser.add_argument("--log-dir")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    model = torch.nn.Linear(2, 1).to(args.device)

    class Env:
        def loss(self):
            return model(torch.ones(1, 2, device=args.device)).sum()

    fit([Env()], [torch.optim.SGD(model.parameters(), lr=0.1)])
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make(tmp_path)


def make(folder: Path) -> Path:
    files = {
        "src/app/__init__.py": "",
        "src/app/loop.py": LOOP,
        "src/app/train.py": SCRIPT,
        "src/app/serve.py": "if __name__ == '__main__':\n    print('no training here')\n",
        "tests/test_app.py": "if __name__ == '__main__':\n    loss.backward(); optimizer.step()\n",
        "pyproject.toml": "[project]\nname = 'app'\nversion = '1'\n[tool.importlinter]\nroot_package = 'app'",
    }
    return trees.write(folder / "repository", files)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A repository after init, and its files before."""
    root = make(tmp_path_factory.mktemp("guarded"))
    before = trees.read(root)
    assert golden_gate(["--root", str(root), "init"]) == 0
    return root, before


def test_it_writes_a_configuration_a_run_its_golden_and_a_baseline_and_nothing_else(
    guarded: tuple[Path, dict[str, bytes]],
) -> None:
    repository, before = guarded
    after = trees.read(repository)
    new = {name for name in after.keys() - before.keys() if not name.startswith("golden/fixtures/")}
    assert new == {"golden/runs/train.toml", "hotpath-baseline.toml"}
    assert "golden/fixtures/train/common.json" in after
    assert [name for name in before if before[name] != after[name]] == ["pyproject.toml"]
    assert after["pyproject.toml"].startswith(before["pyproject.toml"])
    config = load_config(repository)
    assert (config.runs, config.contracts, config.tests) == (("train",), True, None)
    assert config.hotpath is not None
    assert config.hotpath.paths == ("src",)
    command = "python -m app.train --random-seed {seed} --log-dir {out} --epochs 2 --device {device}"
    assert load_run(repository / "golden/runs/train.toml").command == tuple(command.split())
    (finding,) = tomllib.loads(after["hotpath-baseline.toml"].decode())["finding"]
    assert finding["text"] == "loss.item()"


def test_twice_is_refused(guarded: tuple[Path, dict[str, bytes]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(guarded[0])]) == 2
    assert "has a [tool.gate] table already" in capsys.readouterr().err


def test_the_hot_path_command_reads_and_updates_the_baseline_of_the_gate(
    guarded: tuple[Path, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Path(shutil.copytree(guarded[0], tmp_path / "copy"))
    monkeypatch.chdir(repository / "src")
    assert hotpath(["."]) == 0
    loop = repository / "src/app/loop.py"
    loop.write_text(loop.read_text().replace("loss.item()", "loss.item() + loss.item()"))
    assert hotpath(["."]) == 1
    assert golden_gate(["run", "--only", "hot", "--root", str(repository)]) == 1
    assert hotpath([".", "--update-baseline"]) == 0
    assert golden_gate(["run", "--only", "hot", "--root", str(repository)]) == 0


def test_a_dry_run_writes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = trees.read(repository)
    assert main(["--root", str(repository), "--dry-run"]) == 0
    assert trees.read(repository) == before
    printed = capsys.readouterr().out
    assert "[tool.gate]" in printed
    assert "[project]" not in printed


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("hotpath-baseline.toml", "hotpath-baseline.toml"),
        ("golden/fixtures/train/common.json", "golden/fixtures/train"),
    ],
)
def test_a_file_that_is_there_is_not_overwritten(
    file: str, named: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees.write(repository, {file: "version = 1\n"})
    before = trees.read(repository)
    assert main(["--root", str(repository)]) == 2
    assert f"{named} is there already" in capsys.readouterr().err
    assert trees.read(repository) == before


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("nothing.py", "--entry nothing.py: no such file"),
        ("bad.py", "--entry bad.py:1: not valid Python: invalid syntax"),
    ],
)
def test_an_entry_that_is_unusable(
    entry: str, message: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "bad.py").write_text("def\n")
    assert main(["--root", str(repository), "--entry", entry]) == 2
    assert message in capsys.readouterr().err


def test_a_repository_without_a_training_names_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "main.py").write_text("if __name__ == '__main__':\n    print(1)\n")
    assert main(["--root", str(tmp_path)]) == 2
    error = capsys.readouterr().err.splitlines()
    assert "name yours with --entry FILE" in error[-1]
    assert len([line for line in error if line.startswith("golden-gate init: ")]) == 1


def test_a_broken_pyproject_is_one_line(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "pyproject.toml").write_text("[tool")
    assert main(["--root", str(repository)]) == 2
    assert "pyproject.toml:1: not valid TOML" in capsys.readouterr().err


TRAINS = (
    "import torch\n\nmodel = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
)
STEP = "for _ in range({steps}):\n    model(torch.ones(1, 2)).sum().backward()\n    optimizer.step()\n"
GUARD = "if __name__ == '__main__':\n    pass\n"


def written(root: Path, **files: str) -> Path:
    return trees.write(root, {f"{name}.py": text for name, text in files.items()})


def test_the_script_that_holds_the_training_is_meant_whatever_the_alphabet_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(
        tmp_path,
        a_tool="from zeta import model\n\n" + GUARD,
        sample="from zeta import model\n\nprint(model)\n",
        zeta=TRAINS + STEP.format(steps=2),
    )
    assert main(["--root", str(tmp_path), "--dry-run"]) == 0
    assert "entry point: zeta.py" in capsys.readouterr().out


def test_of_scripts_that_are_alike_all_are_told_with_the_option_that_chooses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TRAINS + STEP.format(steps=2)
    written(tmp_path, train_ppo=text, train_dqn=text)
    assert main(["--root", str(tmp_path), "--dry-run"]) == 2
    error = capsys.readouterr().err
    assert "2 scripts train, and nothing says which is meant; one of:" in error
    assert "golden-gate init --entry train_ppo.py" in error
    assert main(["--root", str(tmp_path), "--dry-run", "--entry", "train_ppo.py"]) == 0
    assert "entry point: train_ppo.py" in capsys.readouterr().out


def test_a_run_that_fails_names_the_reason_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, train="import nothing_of_that_name\n" + TRAINS + STEP.format(steps=2))
    before = trees.read(tmp_path)
    assert main(["--root", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    why = "exit status 1: ModuleNotFoundError: No module named 'nothing_of_that_name'"
    assert f"the run does not work: {why}" in printed
    assert printed.endswith("nothing is written; give --args TEXT or --entry FILE\n")
    assert trees.read(tmp_path) == before


@pytest.mark.slow
def test_what_has_no_end_ends_after_some_steps_and_what_it_does_not_know_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script declares an option that it then refuses, and writes beside {out}.

    A first golden is recorded under CI=true, too: somebody asked for it, and it replaces none.
    """
    monkeypatch.setenv("CI", "true")
    script = (
        "import argparse, sys\nfrom pathlib import Path\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--rng-seed', type=int)\nargs = parser.parse_args()\n"
        "if args.rng_seed is not None:\n    sys.exit('No such option: --rng-seed')\n"
        "Path('made').mkdir(exist_ok=True)\nPath('made/a.csv').write_text('1,2')\n"
        "Path('kept/b.csv').write_text('3')\n"
    )
    git(tmp_path, "init", "-q")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "tracked.txt").write_text("")
    git(tmp_path, "add", ".")
    written(tmp_path, train=script + TRAINS + STEP.format(steps="10**9"))
    assert main(["--root", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "without --rng-seed, which it does not know" in said.err
    run = load_run(tmp_path / "golden/runs/train.toml")
    assert (run.command, run.max_steps) == (("python", "train.py"), 200)
    assert (tmp_path / "golden/fixtures/train/common.json").is_file()
    assert "it leaves kept/b.csv, made/ in the repository: now in .gitignore" in said.out
    assert "also compared: made/a.csv" in said.out
    assert run.outputs.files == ("kept/b.csv", "made/a.csv")
    assert {"/made/", "/kept/b.csv"} <= {*(tmp_path / ".gitignore").read_text().splitlines()}


def test_it_works_from_a_sub_folder(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository / "src" / "app")
    assert main(["--dry-run"]) == 0
    assert "entry point: src/app/train.py" in capsys.readouterr().out


def test_what_is_not_done_in_time_gets_fewer_steps_and_then_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_SECONDS", 1.0)
    script = "import argparse, time\nparser = argparse.ArgumentParser()\n"
    script += "parser.add_argument('--steps', type=int, default=900)\nparser.parse_args()\ntime.sleep(3600)\n"
    written(tmp_path, train=script + TRAINS + STEP.format(steps=2))
    assert main(["--root", str(tmp_path)]) == 1
    said = capsys.readouterr()
    limits = [line.partition(")")[0] for line in said.err.splitlines() if line.startswith("trying")]
    assert limits == [f"trying (up to 1 s{x}" for x in ("", ", 200 optimizer steps", ", 20 optimizer steps")]
    assert "the run does not work: not done after 1 s; give it less to do with --args\n" in said.out


def test_data_that_git_ignores_is_found_in_what_the_script_imports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where git keeps a part of the folder, too; and scratch is no data."""
    git(tmp_path, "init", "-q")
    loader = (
        "from pathlib import Path\n\nFOLDERS = Path('./data/images/'), 'kept/raw', 'runs/last', '.cache'\n"
    )
    written(tmp_path, train="import loader\n" + TRAINS + STEP.format(steps=2), loader=loader)
    (tmp_path / ".gitignore").write_text("data/\n*.bin\nruns\n.cache\nother\n")
    names = ("data/images/0.png", "kept/raw/.keep", "kept/raw/0.bin", "runs/last/x", ".cache/x", "other/x")
    trees.write(tmp_path, dict.fromkeys(names, ""))
    git(tmp_path, "add", ".")
    assert main(["--root", str(tmp_path), "--dry-run"]) == 0
    assert '[data]\npaths = ["data", "kept/raw"]' in capsys.readouterr().out


@pytest.mark.slow
def test_a_log_that_grows_from_run_to_run_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = "open('train.log', 'a').write('one more\\n')\n"
    written(tmp_path, train=log + TRAINS + STEP.format(steps=2))
    assert main(["--root", str(tmp_path)]) == 0
    assert "once more without the files that it writes into the repository" in capsys.readouterr().out
    assert load_run(tmp_path / "golden/runs/train.toml").outputs.files == ()


@pytest.mark.slow
def test_a_program_that_reports_elsewhere_is_kept_from_it(tmp_path: Path) -> None:
    reports = "import os\n\nassert os.environ['WANDB_MODE'] == 'disabled'\n\ndef log():\n    import wandb\n"
    written(tmp_path, train="import reports\n" + TRAINS + STEP.format(steps=2), reports=reports)
    assert main(["--root", str(tmp_path)]) == 0
    assert load_run(tmp_path / "golden/runs/train.toml").environment == {"WANDB_MODE": "disabled"}


def test_data_that_the_command_line_names_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "init", "-q")
    written(tmp_path, train=TRAINS + STEP.format(steps=2))
    trees.write(tmp_path, {".gitignore": "tiny/\nother/\n", "tiny/x": "", "other/x": ""})
    assert main(["--root", str(tmp_path), "--dry-run", "--args", "--images=./tiny/train"]) == 0
    assert '[data]\npaths = ["tiny"]' in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begun", "launched"),
    [
        ("if 'RANK' in os.environ:\n    torch.distributed.init_process_group('nccl')\n", False),
        ("torch.distributed.init_process_group('gloo')\n", True),
    ],
    ids=["may have one", "needs one"],
)
def test_a_launcher_starts_what_fails_without_one(
    begun: str, launched: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, train=f"import os\nimport torch\n\n{begun}\n" + TRAINS + STEP.format(steps=2))
    main(["--root", str(tmp_path)])
    assert ("as two processes: as one, " in capsys.readouterr().err) is launched
    if launched:
        command = load_run(tmp_path / "golden/runs/train.toml").command
        assert command is not None
        assert "torch.distributed.run" in command


@pytest.mark.slow
def test_an_option_of_its_own_that_makes_the_run_fail_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--epochs', type=int, default=9)\n"
        "parser.add_argument('--seed', type=int, default=7)\nargs = parser.parse_args()\n"
        "assert args.seed == 7\n"
    )
    written(tmp_path, train=script + TRAINS + STEP.format(steps=2))
    assert main(["--root", str(tmp_path)]) == 0
    assert "without --seed: with it, exit status 1: AssertionError" in capsys.readouterr().err
    run = load_run(tmp_path / "golden/runs/train.toml")
    assert run.command == ("python", "train.py", "--epochs", "2")


@pytest.mark.slow
def test_a_script_that_names_files_from_its_own_folder_is_started_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = "import os\n\nassert os.path.isfile('data/a.txt'), 'nothing at data/a.txt'\n"
    script = looks + TRAINS + STEP.format(steps=2)
    trees.write(tmp_path / "app", {"data/a.txt": "1", "train.py": script})
    assert main(["--root", str(tmp_path)]) == 0
    assert "in app, as its paths want it" in capsys.readouterr().err
    run = load_run(tmp_path / "golden/runs/train.toml")
    assert (run.command, run.folder) == (("python", "train.py"), "app")


def test_a_program_does_not_outlive_it(tmp_path: Path) -> None:
    script = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n"
    written(tmp_path, train=script + TRAINS + STEP.format(steps=2))
    init = subprocess.Popen(
        [sys.executable, "-m", "ci", "init", "--root", str(tmp_path)], stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "pid").is_file() or not (tmp_path / "pid").read_text():
        assert init.poll() is None
        time.sleep(0.1)
    init.terminate()
    _, said = init.communicate(timeout=60)
    assert init.returncode == 143
    assert said.endswith("golden-gate init: interrupted (SIGTERM)\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
