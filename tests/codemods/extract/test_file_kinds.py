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


@pytest.mark.parametrize(
    "arguments", [["--plan", "plan.toml", "--root", "."], ["m.py", "--to", "helpers.py"]]
)
def test_others_of_the_tree_are_skipped_by_name(arguments: list[str], tree: Path) -> None:
    done = run(tree, "extract", *arguments, "--write")
    assert done.returncode == 0, done.stderr
    assert "dangling.py was not read: it is a link to nothing" in done.stderr
    assert "pipe.py was not read: it is no regular file" in done.stderr
    assert "folder.py" not in done.stderr
    assert (tree / "helpers.py").exists()


def test_the_hot_path_check_reports_what_it_can_not_read(tree: Path) -> None:
    done = run(tree, "hotpath", ".")
    assert done.returncode == 1
    assert "dangling.py:1:1: HP903" in done.stdout
    assert "can't be read: it is a link to nothing" in done.stdout
    assert "pipe.py:1:1: HP903" in done.stdout


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("return 5\n", "1: does not compile: 'return' outside function"),
        ("def f():\n    def h(): pass\n    break\n", "3: does not compile: 'break' outside loop"),
        ("nonlocal x\n", "1: does not compile: nonlocal declaration not allowed at module level"),
        ("def f(x):\n    global x\n", "2: does not compile: name 'x' is parameter and global"),
    ],
)
def test_what_parses_and_does_not_compile_is_one_line(text: str, what: str, tree: Path) -> None:
    (tree / "m.py").write_text(text)
    done = run(tree, "extract", "m.py")
    assert done.returncode == 2
    assert done.stderr == f"codemods extract: m.py:{what}\n"
    audited = run(tree, "audit", "m.py")
    assert "Traceback" not in audited.stderr
    assert audited.stderr.count("\n") <= 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_device_is_one_line(command: str, tree: Path) -> None:
    to_file = run(tree, command, "m.py", "--output", "/dev/full")
    with Path("/dev/full").open("w") as full:
        to_stdout = run(tree, command, "m.py", stdout=full)
    for done, name in ((to_file, "/dev/full"), (to_stdout, "standard output")):
        assert done.returncode == 2
        assert done.stderr == f"codemods {command}: {name}: can't be written: No space left on device\n"


@pytest.mark.parametrize(
    "arguments", [["--plan", "plan.toml", "--root", "."], ["m.py", "--to", "helpers.py"]]
)
def test_a_target_that_is_there_keeps_its_encoding(arguments: list[str], tree: Path) -> None:
    (tree / "helpers.py").write_text("# -*- coding: latin-1 -*-\nNAME = 'café'\n", encoding="latin-1")
    done = run(tree, "extract", *arguments, "--write")
    assert done.returncode == 0, done.stderr
    said = "import helpers, m; print(ascii(helpers.NAME), m.outer(2))"
    seen = subprocess.run([sys.executable, "-c", said], cwd=tree, capture_output=True, text=True, check=True)
    assert seen.stdout == "'caf\\xe9' 3\n"


def test_a_target_whose_encoding_lacks_a_letter_is_one_line(tree: Path) -> None:
    (tree / "m.py").write_text(SOURCE.replace("x + n", "x + n, '→'"), encoding="utf-8")
    before = b"# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n"
    (tree / "helpers.py").write_bytes(before)
    done = run(tree, "extract", "m.py", "--to", "helpers.py", "--write")
    assert done.returncode == 2
    assert "helpers.py: what it gains can't be written in its encoding" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tree / "helpers.py").read_bytes() == before
