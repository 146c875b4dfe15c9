"""The gate is green on a repository as it is, and red for each planted fault, by the check for it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from ci.gate import main
from tests.ci.stranger import change
from tests.trees import commit

pytestmark = pytest.mark.xdist_group("stranger")


@pytest.fixture
def repository(stranger: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stranger, tmp_path / "repository"))


def test_green_as_it_is(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kept"
    assert main(["--output", str(out), "--root", str(repository)]) == 0
    printed = capsys.readouterr().out
    assert "gate passed: 8 passed" in printed
    assert "# gate passed" in (out / "gate.md").read_text()
    assert json.loads((out / "gate.sarif").read_text())["runs"][0]["results"] == []
    suite = ElementTree.parse(out / "gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("8", "0", "0")


def lose_a_seam(root: Path) -> None:
    change(
        root,
        "app/train.py",
        'def report(file, step, loss):\n    emit(file, type="step", step=step, loss=loss.item())\n',
        "from app.reporting import report\n",
    )
    (root / "app/reporting.py").write_text(
        "from app.hub import emit\n\n\ndef report(file, step, loss):\n"
        '    emit(file, type="step", step=step, loss=loss.item())\n'
    )


def import_something_heavy(root: Path) -> None:
    change(root, "app/settings.py", "STEPS = 4", "import app.hub\n\nSTEPS = 4")
    change(root, "app/hub.py", "import json\n", "import json\n\nimport torch\n")


def break_a_contract(root: Path) -> None:
    change(root, "app/settings.py", "STEPS = 4", "STEPS = 4\n\n\ndef f():\n    import app.train")


def drift_from_the_plan(root: Path) -> None:
    change(root, "app/scaling.py", "return value * factor", "return factor * value")


def emit_one_more_event(root: Path) -> None:
    change(
        root,
        "app/train.py",
        "            report(file, step, loss.detach())\n",
        "            report(file, step, loss.detach())\n        report(file, step, loss.detach())\n",
    )


def change_a_weight_by_one_ulp(root: Path) -> None:
    change(
        root,
        "app/updates.py",
        "    optimizer.step()\n",
        "    optimizer.step()\n"
        "    import torch\n"
        '    weight = optimizer.param_groups[0]["params"][0]\n'
        "    weight.data[0, 0] = torch.nextafter(weight.data[0, 0], torch.tensor(9.0))\n",
    )


def read_the_device_in_a_called_function(root: Path) -> None:
    change(root, "app/scores.py", "env.loss().detach()", "env.loss().detach().item()")


def break_a_test(root: Path) -> None:
    change(root, "app/train.py", 'type="step", step=step', 'type="step", step=step + 1')


@pytest.mark.parametrize(
    ("plant", "check", "detail"),
    [
        (import_something_heavy, "imports", "app.settings -> app.hub -> torch"),
        (change_a_weight_by_one_ulp, "golden", "different: step 1 of Linear"),
        (
            read_the_device_in_a_called_function,
            "hot path",
            "1 new; app/scores.py:2: HP001",
        ),
        *(
            pytest.param(*fault, marks=pytest.mark.slow)
            for fault in (
                (lose_a_seam, "seams", "emit of app/train.py is read by nothing when it is replaced"),
                (break_a_contract, "contracts", "settings at the bottom BROKEN"),
                (
                    drift_from_the_plan,
                    "plan",
                    "app/scaling.py; run codemods extract --plan plans/split.toml --write",
                ),
                (
                    emit_one_more_event,
                    "counts",
                    "different: what holds everywhere: field counts of step: 4 -> 5",
                ),
                (break_a_test, "tests", "1 failed"),
            )
        ),
    ],
)
def test_red_for_a_planted_fault(
    plant: Callable[[Path], None],
    check: str,
    detail: str,
    repository: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plant(repository)
    out = tmp_path / "kept"
    assert main(["--only", check, "--root", str(repository), "-o", str(out)]) == 1
    printed = capsys.readouterr().out
    assert "gate failed: 1 failed" in printed
    assert detail in " ".join(printed.split())
    (result, *_) = json.loads((out / "gate.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"].startswith("gate/")
    assert ElementTree.parse(out / "gate.xml").getroot()[0].get("failures") == "1"


def test_a_check_that_crashes_has_a_name(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*arguments: object) -> None:
        raise ZeroDivisionError("one line\nand another")

    monkeypatch.setattr("ci.checks.plans.run_plan", crash)
    assert main(["--only", "plan", "--only", "contracts", "--root", str(repository)]) == 1
    printed = capsys.readouterr().out
    assert "crashed: ZeroDivisionError: one line" in printed
    assert "gate failed: 1 passed, 1 could not run" in printed


def test_a_reader_that_moves_with_its_name_is_a_lost_seam(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The module still reads the name somewhere, so only the base tells."""
    change(repository, "app/train.py", "def train(", "def note(file):\n    emit(file)\n\n\ndef train(")
    commit(repository, "another reader")
    lose_a_seam(repository)
    assert main(["--only", "seams", "--root", str(repository)]) == 0
    capsys.readouterr()
    assert main(["--only", "seams", "--root", str(repository), "--base", "HEAD"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "report read emit of app/train.py, which tests replace; now that of app/reporting.py" in printed


@pytest.mark.parametrize(("slowdown", "status", "ratio"), [(1.1, 0, "1.10"), (1.6, 1, "1.60")])
def test_throughput_fails_only_beyond_its_bound(
    slowdown: float,
    status: int,
    ratio: str,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The clock is the test's own: base and head take turns, and who goes first changes."""
    order = []

    def timed(run: object, *, label: str, **options: object) -> SimpleNamespace:
        order.append(label)
        load = len(order)  # the machine gets slower and slower, for both sides alike
        seconds = (slowdown if label == "head" else 1.0) * (1 + 0.001 * load)
        return SimpleNamespace(about=SimpleNamespace(seconds=seconds))

    monkeypatch.setattr("ci.checks.throughput.record_run", timed)
    with (repository / "pyproject.toml").open("a") as file:
        file.write('[tool.gate.throughput]\nrun = "fit"\nbound = 1.5\nrepeats = 3\n')
    commit(repository, "timed")
    assert main(["--only", "throughput", "--root", str(repository), "--base", "HEAD"]) == status
    assert f"fit takes {ratio} times as long as at HEAD" in " ".join(capsys.readouterr().out.split())
    assert order == ["base", "head", "head", "base", "base", "head"]


def test_a_branch_that_adds_a_read_fails_and_one_that_only_moves_code_passes(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--only", "hot path", "--root", str(repository), "--base", "HEAD"]
    (repository / "app/scoring.py").write_text((repository / "app/scores.py").read_text())
    (repository / "app/scores.py").unlink()
    change(repository, "app/envs.py", "from app.scores import score", "from app.scoring import score")
    assert main(options) == 0
    capsys.readouterr()
    change(repository, "app/scoring.py", ".detach()", ".detach().item()")
    assert main(options) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "in `for env in envs` through score: env.loss().detach().item()" in printed
    assert "app/scoring.py:2" in printed
