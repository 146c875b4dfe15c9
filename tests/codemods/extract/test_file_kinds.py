"""Files of any kind get one clear line, and what can be read is worked on all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = (
    "from json import dumps\ndef outer(n):\n    def h(x):\n        return dumps(x + n)\n    return h(1)\n"
)
PLAN = 'version = 1\nsource = "m.py"\nfunction = "outer"\n\n[[move]]\nto = "helpers.py"\nnames = ["h"]\n'
COMMANDS = ["extract", "audit", "hotpath"]


def run(root: Path, command: str, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", f"codemods.{command}", *arguments],
        cwd=root,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        **{"stdout": subprocess.PIPE, **more},
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'p'\n")
    (tmp_path / "m.py").write_text(SOURCE)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "dangling.py").symlink_to("nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("dangling.py", "a link to a file that is not there|no such file"),
        ("pipe.py", "is not a regular file"),
        ("missing.py", "no such file"),
    ],
)
def test_a_file_that_can_not_be_read_is_one_line(command: str, name: str, line: str, tree: Path) -> None:
    done = run(tree, command, name)
    assert done.returncode == 2
    assert any(part in done.stderr for part in line.split("|")), done.stderr
    assert done.stderr.count("\n") == 1
