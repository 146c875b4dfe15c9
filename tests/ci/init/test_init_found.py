"""What init finds: scripts however they begin, the loops of theirs, tests that can be collected."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.init import main
from golden.cli import main as golden
from tests.trees import commit, git, write

pytestmark = pytest.mark.slow

AGENT = """\
import torch

class Agent:
    def __init__(self):
        self.model = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def update(self):
        loss = self.model(torch.ones(1, 2)).sum()
        loss.backward()
        self.optimizer.step()
        return loss.item()
"""
ENV_LOOP = (
    "from agent import Agent\nagent = Agent()\nfor _ in range(3):\n    env.step(1)\n    agent.update()\n"
)
PARSED = (
    "import argparse\nfrom agent import Agent\nargs = argparse.ArgumentParser().parse_args()\n"
    "for _ in range(3):\n    Agent().update()\nprint('done')\n"
)
CALLED = "from agent import Agent\n\ndef main_loop():\n    Agent().update()\n\n\nmain_loop()\n"
TRAINED = "from agent import Agent as AgentTrainer\ntrainer = AgentTrainer()\ntrainer.train(3)\n"


@pytest.mark.parametrize(
    "script", [ENV_LOOP, PARSED, CALLED, TRAINED], ids=["steps", "parses", "calls", "trains"]
)
def test_a_flat_script_that_trains_through_what_it_imports_is_found(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"agent.py": AGENT, "begin.py": script, "shapes.py": "import agent\nSIDE = abs(-3)\n"})
    assert main(["--root", str(tmp_path), "--dry-run"]) == 0
    assert "entry point: begin.py\n" in capsys.readouterr().out


def test_files_that_are_not_python_are_told_where_nothing_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"train.py": "x = 1\ny.cuda(async=True)\n", "other.py": "x = 1\n"})
    assert main(["--root", str(tmp_path), "--dry-run"]) == 2
    why = "train.py:2: not valid Python: invalid syntax"
    assert f"after a backward pass; {why}; name yours with --entry FILE\n" in capsys.readouterr().err
    assert main(["--root", str(tmp_path), "--dry-run", "--entry", "train.py"]) == 2
    assert capsys.readouterr().err == f"golden-gate init: --entry {why}\n"


def test_loops_of_other_scripts_are_counted_and_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = "import torch\nfrom agent import Agent\n\ndef fit(loader):\n    for {name} in loader:\n"
    loop += "        Agent().update()\n        torch.ones(1, device='cuda').item()\n"
    files = {f"{name}.py": loop.format(name=name) + "\nfit([])\n" for name in ("batch", "images", "rows")}
    write(tmp_path, {"agent.py": AGENT, **files})
    assert main(["--root", str(tmp_path), "--dry-run", "--entry", "batch.py"]) == 0
    printed = capsys.readouterr().out
    for mark in ("  ", "# Found: "):
        assert f"{mark}batch.py:5 for batch in loader\n{mark}2 more in 2 files that the run" in printed
    assert printed.count("[[finding]]") == 3


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("def test_it():\n    assert True\n", "part of the gate"),
        (
            "import nothing_of_that_name\n",
            "left out, for pytest collects none: ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ),
        ("x = 1\n", "left out, for pytest collects none: no tests collected"),
    ],
    ids=["collected", "an import fails", "none there"],
)
def test_tests_are_proposed_where_they_can_be_collected(
    test: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "init", "-q")
    script = "import sys\nfrom agent import Agent\nAgent().update()\nsys.exit()\n"
    write(tmp_path, {"agent.py": AGENT, "begin.py": script, "tests/test_a.py": test})
    assert main(["--root", str(tmp_path), "--entry", "begin.py"]) == 0
    assert f"tests in tests: {said}" in capsys.readouterr().out
    table = (tmp_path / "pyproject.toml").read_text()
    assert ("\n[tool.gate.tests]\n" in table) is (said == "part of the gate")
    assert (
        said == "part of the gate"
        or f"# Tests are not run, for {said.removeprefix('left out, for ')}" in table
    )


def test_data_outside_of_the_repository_is_there_for_trees_of_other_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "repository"
    script = (
        "import sys\nfrom agent import Agent\nopen(sys.argv[-1].partition('=')[2] + '/0')\nAgent().update()\n"
    )
    write(root, {"agent.py": AGENT, "begin.py": script})
    write(tmp_path, {"images/0": ""})
    commit(root)
    assert main(["--root", str(root), "--entry", "begin.py", "--args", "--data=../images"]) == 0
    assert "../images is outside of the repository: written as an absolute path" in capsys.readouterr().out
    assert golden(["ab", "--root", str(root), "--base", "HEAD", "begin"]) == 0
