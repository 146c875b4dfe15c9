"""A write that is killed at any point leaves a program that does the same."""

from __future__ import annotations

import contextlib
import itertools
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods import render
from codemods.extract import main
from codemods.plans import run
from codemods.plans import write as writer
from tests.trees import read, write

pytestmark = pytest.mark.slow

# Loaded before the processes part, which need it.
assert render
assert run
assert writer

# Calls that change the tree; each is a point to be killed at, before it and after it.
CHANGING = ("replace", "rename", "unlink", "mkdir", "rmdir", "chmod", "fsync", "write")


class Counted:
    """Calls of some functions, until the process kills itself at one of them."""

    def __init__(self, point: int) -> None:
        self.left = point

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os._exit(9)

    def of(self, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **keywords: object) -> object:
            self.step()
            result = function(*arguments, **keywords)
            self.step()
            return result

        return call


TREE = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "pkg/__init__.py": "",
    "pkg/m.py": "LIMIT = 3\n\n\ndef tool(x):\n    return x * LIMIT\n\n\n"
    "def outer(n):\n    def h(x):\n        return x + n\n\n    return h(1) + tool(2)\n",
    "pkg/user.py": "from pkg.m import tool\n\nvalue = tool(5)\n",
    "main.py": "from pkg import m, user\nprint(m.outer(1), user.value, m.tool(1))\n",
    "plan.toml": 'version = 1\nsource = "pkg/m.py"\nfunction = "outer"\nroot = "pkg"\n\n'
    '[[move]]\nto = "new/helpers.py"\nnames = ["h"]\n\n'
    '[[move]]\nto = "new/tools.py"\nnames = ["LIMIT", "tool"]\n',
}
PLAN = ["--plan", "plan.toml", "--root", "."]


def forked(root: Path, action: Callable[[], int]) -> tuple[int, str]:
    """What an action returns and prints, in a process of its own."""
    out = root.with_name(root.name + ".out")
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.chdir(root)
            sys.dont_write_bytecode = True
            with out.open("w") as text, contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
                status = action()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), out.read_text()


def killed(root: Path, point: int, *command: str) -> int:
    """The status of a command that is killed at one point."""

    def action() -> int:
        counted = Counted(point)
        for name in CHANGING:
            setattr(os, name, counted.of(getattr(os, name)))
        return main([*command, "--write", "--quiet"])

    return forked(root, action)[0]


def program(root: Path) -> str:
    """What the program prints."""

    def action() -> int:
        sys.path.insert(0, str(root))
        runpy.run_path("main.py", run_name="__main__")
        return 0

    status, printed = forked(root, action)
    assert status == 0, printed
    return printed


@pytest.mark.parametrize("command", [["pkg/m.py", "--to", "pkg/new/helpers.py"], PLAN], ids=["to", "plan"])
def test_killed_at_any_point(command: list[str], tmp_path: Path) -> None:
    done = write(tmp_path / "done", TREE)
    wanted = program(done)
    assert forked(done, lambda: main([*command, "--write", "--quiet"]))[0] == 0
    assert program(done) == wanted
    for point in itertools.count(1):
        root = write(tmp_path / str(point), TREE)
        status = killed(root, point, *command)
        if status != 9:
            assert status == 0
            assert read(root) == read(done)
            break
        assert program(root) == wanted, point
