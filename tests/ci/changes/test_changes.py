"""A change that weakens the gate that judges it fails, with a list of what was weakened."""

import json
import shutil
from pathlib import Path

import pytest

from ci.gate import main
from tests.ci.stranger import Way, append, change, project, swap, write
from tests.trees import commit

pytestmark = pytest.mark.xdist_group("stranger")

CONTENTS = """\
[[tool.gate.imports]]
module = "app.settings"
without = ["torch", "app.train"]
"""
RUN = "golden/runs/fit.toml"


@pytest.fixture(scope="module")
def strict(stranger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = Path(shutil.copytree(stranger, tmp_path_factory.mktemp("strict") / "repository"))
    with (root / "pyproject.toml").open("a") as file:
        file.write('\n[tool.codemods.hotpath]\nloop-variables = ["env"]\nignore = ["HP010"]\n')
    (root / "hotpath-baseline.toml").write_text("version = 2\n")
    change(
        root, "pyproject.toml", 'paths = ["app"]\n', 'paths = ["app"]\nbaseline = "hotpath-baseline.toml"\n'
    )
    change(root, "app/train.py", "range(STEPS):", "range(STEPS):  # hotpath: loop")
    change(root, RUN, 'files = "log.jsonl"', 'files = "log.jsonl"\nunstable = ["time"]')
    with (root / RUN).open("a") as file:
        file.write('[[tolerance]]\nfield = "loss"\nulps = 2\nreason = "why not"\n')
    commit(root, "more to weaken")
    return root


@pytest.fixture
def repository(strict: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(strict, tmp_path / "repository"))


def gate(root: Path, *options: str) -> tuple[int, str]:
    return main(["--root", str(root), "--base", "HEAD", "--only", "changes", *options]), str(root)


def remove_a_golden(root: Path) -> None:
    (root / "golden/fixtures/fit/common.json").unlink()


@pytest.mark.parametrize(
    ("weaken", "name", "what"),
    [
        (
            project('"torch", "app.train"', '"app.train"'),
            "imports.app.settings.without",
            "no longer has torch",
        ),
        (
            swap("app/envs.py", "in envs:", "in envs:  # hotpath: loop"),
            "hotpath.loop",
            "is new: # hotpath: loop at `for env in envs:`",
        ),
        (swap(RUN, "ulps = 2", "ulps = 2000"), "run.fit.tolerance.events.loss.ulps", "was 2, is 2000"),
        (append(RUN, "[observe]\nsteps = false\n"), "run.fit.observe.steps", "was True, is False"),
        (remove_a_golden, "golden.fit", "is gone: common.json"),
    ],
)
def test_each_weakening_is_named(
    weaken: Way,
    name: str,
    what: str,
    repository: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    weaken(repository)
    sarif = tmp_path / "kept" / "gate.sarif"
    code, _ = gate(repository, "--output", str(sarif.parent))
    assert code == 1
    messages = [r["message"]["text"] for r in json.loads(sarif.read_text())["runs"][0]["results"]]
    assert any(message.startswith(f"{name} {what}") for message in messages), messages
    assert all(message.startswith(name.partition(".")[0]) for message in messages), messages
    assert f"--accept '{name}'" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "strengthen",
    [
        project('without = ["torch", "app.train"]', 'without = ["torch", "app.train", "numpy"]'),
        project('ignore = ["HP010"]', "ignore = []"),
        swap(RUN, 'unstable = ["time"]', "unstable = []"),
        swap(RUN, "budget = 5", "budget = 7\ntimeout = 50"),
        append("pyproject.toml", '[tool.gate.throughput]\nrun = "fit"\nbound = 1.5\n'),
        write("golden/fixtures/fit/exact-cpu-other.json", "{}"),
        append(RUN, '[variants.twice]\n[same.twice]\nsays = "a"\nvariants = ["twice"]\n'),
    ],
)
def test_what_demands_more_passes(strengthen: Way, repository: Path) -> None:
    strengthen(repository)
    assert gate(repository)[0] == 0


ACCEPT = """\
version = 1
source = "app/train.py"
function = "train"
move = [{ to = "parts.py", names = ["*"] }]
accept = [{ code = "introspection", reason = "nobody looks" }]
"""


def test_an_assumption_that_a_new_plan_accepts_counts_only_by_name_or_from_the_base(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "plans" / "parts.toml").write_text(ACCEPT)
    assert gate(repository)[0] == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "plans.parts.accept is new: introspection (nobody looks)" in told
    assert "--accept 'plans.parts.accept'" in told
    assert gate(repository, "--accept", "plans.parts.accept")[0] == 0
    commit(repository, "the base accepts it")
    assert gate(repository)[0] == 0


def test_a_gate_that_was_switched_off_fails_with_the_list(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project('runs = ["fit"]', "runs = []")(repository)
    text = (repository / "pyproject.toml").read_text()
    start, end = text.index("[tool.gate.tests]"), text.index("[tool.importlinter]")
    (repository / "pyproject.toml").write_text(text[:start] + text[end:])
    assert gate(repository)[0] == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "runs no longer has fit; tests is gone; if that is wanted: --accept 'runs' --accept 'tests'"
        in printed
    )
    (repository / "pyproject.toml").write_text("[project]\nname = 'app'\n")
    assert gate(repository)[0] == 1
    assert "runs no longer has fit" in " ".join(capsys.readouterr().out.split())


def test_a_weakening_is_accepted_by_its_name_or_by_what_it_is_below(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swap(RUN, "seed = 4", "seed = 5")(repository)
    assert gate(repository, "--accept", "run.fit.seed")[0] == 0
    assert "but for what was accepted: run.fit.seed" in " ".join(capsys.readouterr().out.split())
    assert gate(repository, "--accept", "run.fit")[0] == 0
    assert gate(repository, "--accept", "run.fi")[0] == 1


def test_a_base_without_a_gate_is_the_first_policy(stranger: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(stranger, tmp_path / "repository"))
    text = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text("")
    commit(root, "before the gate")
    (root / "pyproject.toml").write_text(text)
    assert gate(root)[0] == 0


def test_a_base_whose_policy_cant_be_read_is_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (repository / "pyproject.toml").read_text()
    (repository / "pyproject.toml").write_text(text.replace("[tool.gate]\n", "[tool.gate]\nrnus = []\n"))
    commit(repository, "misspelt")
    (repository / "pyproject.toml").write_text(text)
    assert gate(repository)[0] == 1
    assert "tool.gate the base's can't be read" in " ".join(capsys.readouterr().out.split())
    assert gate(repository, "--accept", "tool.gate")[0] == 0


def test_a_project_that_is_no_toml_is_an_error(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (repository / "pyproject.toml").read_text()
    (repository / "pyproject.toml").write_text("[tool.gate]\nruns = [\n")
    assert gate(repository)[0] == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("golden-gate run: ")
    assert "pyproject.toml:2: not valid TOML: Invalid value (at end of document)" in line
    commit(repository, "broken")
    (repository / "pyproject.toml").write_text(text)
    assert gate(repository)[0] == 1
    assert "tool.gate the base's can't be read: pyproject.toml:2" in " ".join(capsys.readouterr().out.split())


def test_accepting_what_is_not_weakened_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(repository, "--accept", "runs")[0] == 1
    assert "--accept runs: nothing of that name is weakened" in " ".join(capsys.readouterr().out.split())
    assert main(["--root", str(repository), "--accept", "runs"]) == 2
    assert "--accept NAME needs --base REF" in capsys.readouterr().err


@pytest.mark.slow
def test_a_change_is_judged_by_the_run_of_the_base(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another rate, and a run file that lets any loss pass and takes no step that could tell."""
    change(repository, "app/train.py", "lr=0.1", "lr=0.2")
    change(repository, RUN, "ulps = 2", "ulps = 4000000000")
    (repository / RUN).write_text((repository / RUN).read_text() + "[observe]\nsteps = false\n")
    options = ["--root", str(repository), "--base", "HEAD", "--only", "golden", "--only", "changes"]
    assert main(options) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "gate failed: 2 failed" in printed
    assert "different: step 0 of Linear" in printed


@pytest.mark.slow
def test_a_wanted_change_passes_by_its_new_golden_where_that_is_accepted(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from golden.cli import main as golden

    monkeypatch.setenv("CI", "")
    change(repository, "app/train.py", "lr=0.1", "lr=0.2")
    assert golden(["record", "fit", "--update", "--root", str(repository)]) == 0
    options = ["--root", str(repository), "--base", "HEAD", "--only", "golden", "--only", "changes"]
    assert main(options) == 1
    assert "gate failed: 2 failed" in capsys.readouterr().out
    assert main([*options, "--accept", "golden.fit"]) == 0
