"""The gate on small repositories: one table, one exit status, and a name for what could not run."""

import subprocess
import sys
from pathlib import Path

import pytest

from ci.__main__ import main as golden_gate
from ci.config import GateConfig
from ci.gate import main
from golden.cli import main as golden

PLAN = """\
version = 1
source = "train.py"
function = "train"
root = "."

[[move]]
to = "helpers.py"
docstring = "What a step needs."
names = ["scale"]
"""
TRAIN = """\
def train(factor):
    def scale(x):
        return x * factor

    return scale(2)


print(train(3))
"""


def repository(root: Path, gate: str) -> Path:
    (root / "pyproject.toml").write_text(f"[tool.gate]\n{gate}\n")
    (root / "train.py").write_text(TRAIN)
    (root / "plan.toml").write_text(PLAN)
    return root


def test_a_plan_whose_files_were_changed_by_hand_must_still_be_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def gate(arguments: str = "") -> tuple[int, str]:
        code = main(["--root", str(tmp_path), *arguments.split()])
        return code, " ".join(capsys.readouterr().out.split())

    repository(tmp_path, 'carried_out = ["plan.toml"]')
    code, printed = gate()
    assert code == 1
    assert "could not run" in printed
    assert "name where the rest goes (rest)" in printed
    (tmp_path / "frozen.py").write_text(TRAIN)
    (tmp_path / "plan.toml").write_text(PLAN.replace('"train.py"', '"frozen.py"\nrest = "train.py"'))
    code, printed = gate()
    assert code == 0
    assert "can be carried out; 2 files, not compared with the tree" in printed
    (tmp_path / "frozen.py").write_text(TRAIN.replace("return scale(2)", "return scale(2) or scale"))
    code, printed = gate()
    assert code == 1
    assert "refused: scale" in printed


def test_a_run_that_is_unknown_could_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository(tmp_path, 'runs = ["nothing"]')
    assert main(["--root", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "could not run" in printed
    assert "no run called nothing" in printed


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("plan = []", "[tool.gate] plan: unknown key; did you mean plans"),
        ("contracts = 3", "[tool.gate] contracts: "),
        ("hotpath = { paths = [] }", "[tool.gate] hotpath.paths: say at least one"),
        ("", "no check to run: [tool.gate] names none"),
    ],
)
def test_a_configuration_that_is_unusable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str, message: str
) -> None:
    repository(tmp_path, table)
    assert main(["--root", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_folder_that_can_not_be_made_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path, "contracts = true")
    assert main(["--root", str(tmp_path), "-o", str(tmp_path / "pyproject.toml" / "kept")]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n"), "can't" in told.err) == ("", 1, True), told


def test_contracts_without_a_configuration_say_where_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path, "contracts = true")
    assert main(["--root", str(tmp_path)]) == 1
    assert "[tool.importlinter]" in " ".join(capsys.readouterr().out.split())


def test_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path)]) == 2
    assert "run the gate in the root of a repository" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("")
    assert main(["--root", str(tmp_path)]) == 2
    assert "has no [tool.gate] table" in capsys.readouterr().err


def test_only_chooses_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository(tmp_path, 'plans = ["plan.toml"]\nruns = ["fit"]')
    assert main(["--root", str(tmp_path), "--only", "plan"]) == 1
    assert "golden" not in capsys.readouterr().out
    assert main(["--root", str(tmp_path), "--only", "zzz"]) == 2


def test_the_console_script_names_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert golden_gate(["--help"]) == 0
    assert golden_gate([]) == 2
    assert golden_gate(["fly"]) == 2
    assert "unknown command fly" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_that_is_full(tmp_path: Path) -> None:
    repository(tmp_path, 'carried_out = ["plan.toml"]')
    command = [sys.executable, "-m", "ci.gate", "--root", str(tmp_path)]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert "golden-gate run: standard output: can't be written: No space left on device\n" in ended.stderr


def test_the_knobs_are_these() -> None:
    assert sorted(GateConfig.model_fields) == [
        *("carried_out", "contracts", "counts", "evidence", "hotpath", "imports", "plans"),
        *("power", "pythonpath", "runs", "seams", "syncs", "tests", "throughput"),
    ]


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ('[tool.gate.throughput]\nrun = "fit"\nbound = 1.2', "throughput fit"),
        ('[tool.gate.evidence]\npaths = ["app"]', "evidence"),
        ('[tool.gate.power]\nruns = ["fit"]\nat_least = 0.9', "power"),
        ('syncs = ["fit"]', "syncs fit"),
    ],
)
def test_checks_that_need_a_base_are_named(
    table: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path, table)
    assert main(["--root", str(tmp_path)]) == 2
    assert f"no check to run: {name} need --base REF" in capsys.readouterr().err


SCRIPT = """\
import pathlib, sys
with pathlib.Path("times.txt").open("a") as file:
    file.write("once\\n")
(pathlib.Path(sys.argv[1]) / "log.jsonl").write_text('{"type": "end"}\\n')
"""
RUN = """\
command = ["python", "script.py", "{out}"]
budget = 1

[events]
files = "log.jsonl"

[observe]
steps = false
"""


def test_checks_of_one_run_share_its_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "")
    (tmp_path / "pyproject.toml").write_text('[tool.gate]\nruns = ["end"]\ncounts = ["end"]\n')
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "golden" / "runs").mkdir(parents=True)
    (tmp_path / "golden" / "runs" / "end.toml").write_text(RUN)
    assert golden(["record", "end", "--update", "--root", str(tmp_path)]) == 0
    (tmp_path / "times.txt").unlink()
    assert main(["--root", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(name in printed for name in ("golden end", "counts end"))
    assert (tmp_path / "times.txt").read_text() == "once\n"

    (tmp_path / "script.py").write_text(SCRIPT + "raise SystemExit('boom')\n")
    assert main(["--root", str(tmp_path)]) == 1
    assert capsys.readouterr().out.count("boom") == 2
    assert (tmp_path / "times.txt").read_text() == "once\n" * 2
