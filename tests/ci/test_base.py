"""What is compared with what: submodules, ignored data, a dirty tree, sub-folders; and what is kept."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ci.gate import main
from tests.ci.stranger import change
from tests.trees import commit, git, write

pytestmark = pytest.mark.slow

SCRIPT = """\
import torch

torch.manual_seed(0)
rate = float(open("data/rate.txt").read())
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=rate)
for _ in range(2):
    optimizer.zero_grad()
    loss = model(torch.ones(1, 2)).square().sum()
    loss.backward()
    optimizer.step()
"""
GATE = """\
[tool.gate]
runs = ["fit"]

[tool.gate.hotpath]
paths = ["envs.py"]
"""
RUN = 'command = ["python", "fit.py"]\nbudget = 5\n[data]\npaths = ["data"]\n'
ENVS = "def evaluate(envs):\n    return [env.loss().item() for env in envs]\n"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project below the top of its repository, whose data git ignores."""
    top = tmp_path_factory.mktemp("kept") / "top"
    files = {"pyproject.toml": GATE, "fit.py": SCRIPT, "envs.py": ENVS, "golden/runs/fit.toml": RUN}
    write(top / "project", {**files, "data/rate.txt": "0.1", ".gitignore": "data/\n"})
    commit(top)
    return top


@pytest.fixture
def top(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "top"))


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_a_failure_leaves_evidence_and_points_at_the_line(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a sub-folder, with data that git ignores."""
    change(top, "project/fit.py", ".square()", ".pow(3)")
    monkeypatch.chdir(top / "project" / "golden")
    kept = tmp_path / "kept"
    options = ["--base", "HEAD", "--output", str(kept)]
    assert main(options) == 1
    printed = said(capsys)
    assert "different: step 0 of Linear" in printed
    assert "; at fit.py:9" in printed
    assert "compared: HEAD (" in printed
    assert "with uncommitted changes (project/fit.py); from here to both: data" in printed
    (result,) = json.loads((kept / "gate.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "project/fit.py"
    assert place["region"] == {"startLine": 9}
    folder = kept / "golden-fit"
    assert "<html" in (folder / "report.html").read_text()
    assert "fit.py:9" in (folder / "verdict.txt").read_text()
    assert (folder / "base" / "trace.json").is_file()
    assert (folder / "head" / "trace.json").is_file()
    assert "[`golden-fit/report.html`](<golden-fit/report.html>)" in (kept / "gate.md").read_text()
    assert main(options) == 2
    assert "is there already and not empty" in capsys.readouterr().err


def test_a_base_that_lacks_ignored_data_says_so_and_a_change_may_name_it(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = top / "project/golden/runs/fit.toml"
    run.write_text(RUN.partition("[data]")[0])
    commit(top, "without data")
    options = ["--root", str(top / "project"), "--base", "HEAD"]
    assert main([*options, "--only", "golden"]) == 1
    printed = said(capsys)
    assert "base (HEAD) failed: run fit: exit status 1" in printed
    assert "FileNotFoundError" in printed
    assert "name other data in [data] paths (git ignores data; name what the run needs)" in printed
    run.write_text(RUN)
    assert main([*options, "--only", "golden", "--only", "changes"]) == 0, said(capsys)


@pytest.mark.parametrize(
    ("shared", "message"),
    [("new.py", "only what git does not keep can be shared"), ("data/no", "data/no does not exist")],
)
def test_only_what_git_does_not_keep_is_shared(
    shared: str, message: str, top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a change could hand its own code to the base."""
    (top / "project/new.py").write_text("")
    change(top, "project/golden/runs/fit.toml", 'paths = ["data"]', f'paths = ["{shared}"]')
    commit(top, "new")
    assert main(["--root", str(top / "project"), "--base", "HEAD~1", "--only", "golden"]) == 1
    assert message in said(capsys)


def test_the_hot_path_needs_no_submodules_and_a_run_does(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = top.parent / "library"
    commit(write(library, {"values.py": "STEPS = 3\n"}))
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "project/library")
    commit(top, "with a submodule")
    shutil.rmtree(library)  # as where a token for it is missing
    options = ["--root", str(top / "project"), "--base", "HEAD"]
    assert main([*options, "--only", "hot", "--only", "changes"]) == 0
    capsys.readouterr()
    assert main([*options, "--only", "golden"]) == 1
    assert "can't check out the submodules of HEAD" in said(capsys)


def test_a_stall_is_shown_from_the_top_of_the_repository(top: Path, tmp_path: Path) -> None:
    change(
        top,
        "project/envs.py",
        "    return",
        "    for env in envs:\n        print(env.loss().item())\n    return",
    )
    sarif = tmp_path / "kept" / "gate.sarif"
    options = ["--base", "HEAD", "--only", "hot", "--output", str(sarif.parent)]
    assert main(["--root", str(top / "project"), *options]) == 1
    uris = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in json.loads(sarif.read_text())["runs"][0]["results"]
    }
    assert uris == {"project/envs.py"}


def test_a_ref_that_is_not_there_is_unusable(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(top / "project"), "--base", "nowhere"]) == 2
    assert "git ref nowhere does not exist in" in capsys.readouterr().err


def test_no_worktree_is_left_behind(top: Path) -> None:
    main(["--root", str(top / "project"), "--base", "HEAD", "--only", "changes"])
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=top, capture_output=True, text=True, check=True, env=os.environ
    ).stdout
    assert len(listed.splitlines()) == 1
