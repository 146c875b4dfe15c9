"""The worked example of a rewrite on the facts of codemods: what it drops, and what it must not."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "codemod"

DROPPED = {
    "never read": ("y = 1\nreturn x", "y = 1"),
    "bound again before it is read": ("y = 1\ny = x\nreturn y", "y = 1"),
    "in a branch that returns": ("if x:\n    z = 1\n    return x\nreturn x", "z = 1"),
}
KEPT = {
    "read": "y = 1\nreturn x + y",
    "read in the next turn of a loop": "y = 0\nfor i in x:\n    print(y)\n    y = i",
    "read by a helper": "y = 1\ndef g():\n    return y\nreturn g",
    "shared with a helper": "def g():\n    nonlocal y\n    y = 2\ny = 1\nreturn g",
    "a global": "global y\ny = 1\nreturn x",
    "a call": "y = print(x)\nreturn x",
    "added to": "y = 1\ny += x\nreturn x",
    "deleted": "y = 1\ndel y\nreturn x",
    "read after an exception": "y = 1\ntry:\n    y = 2\n    x()\nexcept ValueError:\n    return y",
    "read whenever a generator runs": "y = 1\nreturn (y for _ in x)",
}


def function(body: str) -> str:
    """A function of a class with this body."""
    return "class C:\n    def f(self, x):\n" + textwrap.indent(body, " " * 8) + "\n"


def run(folder: Path, text: str) -> tuple[str, str]:
    """The file after the command, and what it said."""
    path = folder / "m.py"
    path.write_text(text)
    command = [
        sys.executable,
        "-m",
        "libcst.tool",
        "codemod",
        "-x",
        "dead_stores.DropDeadStores",
        "--no-format",
    ]
    done = subprocess.run(
        [*command, "--no-format", "-j", "1", str(path)],
        cwd=folder,
        env={"PYTHONPATH": f"{EXAMPLE}:{ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return path.read_text(), done.stderr


@pytest.fixture
def drop(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The rewrite, in this process."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import libcst
    from dead_stores import DropDeadStores
    from libcst.codemod import CodemodContext, SkipFile

    def change(text: str) -> str:
        try:
            return DropDeadStores(CodemodContext()).transform_module(libcst.parse_module(text)).code
        except SkipFile:
            return text

    return change


@pytest.mark.parametrize("name", DROPPED)
def test_what_nothing_reads_goes(name: str, drop: Callable[[str], str]) -> None:
    body, gone = DROPPED[name]
    text = function(body)
    changed = drop(text)
    assert gone not in changed
    assert len(changed.splitlines()) == len(text.splitlines()) - 1
    assert drop(changed) == changed


@pytest.mark.parametrize("name", KEPT)
def test_what_something_reads_stays(name: str, drop: Callable[[str], str]) -> None:
    assert drop(function(KEPT[name])) == function(KEPT[name])


def test_it_runs_as_a_command_of_libcst(tmp_path: Path) -> None:
    text, said = run(tmp_path, "def f(x):\n    y = 1\n    return x\n")
    assert text == "def f(x):\n    return x\n"
    assert "1 files" in said
