"""The command on small programs: what is noticed, what is not, what may not be touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.project import Project, Result
from tests.trees import commit, read

pytestmark = pytest.mark.slow

MAIN = """\
import json
import sys

from work import fit

log = open(sys.argv[1] + "/events.jsonl", "w")
log.write(json.dumps({"type": "end", "result": fit(3)}) + "\\n")
"""
WORK = """\
def fit(n):
    unused = 5
    if n > 100:
        return n - 7
    return n + 1
"""
RUN = """\
command = ["python", "main.py", "{out}"]
budget = 1

[events]
files = "events.jsonl"

[observe]
steps = false
"""


@pytest.fixture
def small(project: Project) -> Project:
    """`work.fit`: one line that decides, one that nobody reads, one that never runs."""
    (project.root / "train.py").unlink()
    project.script(MAIN, "main.py")
    project.script(WORK, "work.py")
    project.run_file(RUN)
    return project


def mutate(project: Project, *options: str | Path) -> Result:
    return project.golden("mutate", "-n", "2", *options)


def test_what_is_noticed_and_what_is_not(small: Project) -> None:
    before = read(small.root)
    result = mutate(small, small.root / "work.py")
    assert result.code == 0, result
    assert read(small.root) == before
    assert "plan: 5 mutants in 1 file, on lines that train executes" in result.out
    assert "  all are tried, 2 at a time" in result.out
    assert "2 more are on lines that no run executes: nothing would kill them" in result.out
    # Each of another value and the same length, in a module whose compiled form lies beside it.
    assert "mutation score: 40 % (2 of 5 mutants killed)\n" in result.out
    assert "  work.py:2 in fit: constant; train ran it\n    - unused = 5\n    + unused = 6\n" in result.out
    assert "    - if n > 100:\n    + if n > 101:\n" in result.out
    assert "killed 2 of 5 that it ran (2 different)" in result.out


def test_some_are_drawn(small: Project) -> None:
    result = mutate(small, small.root / "work.py", "--mutants", "2")
    assert result.code == 0, result
    assert "  2, drawn by chance, are tried" in result.out


def test_equivalents_are_counted_and_left_out(small: Project) -> None:
    small.script("def fit(n):\n    m = (0 + 0) * n\n    return m + n\n", "work.py")
    result = mutate(small, small.root / "work.py")
    assert "  1 equivalent mutants (the same program) are left out\n" in result.out, result


def test_crash_is_told_apart(small: Project) -> None:
    small.script('def fit(n):\n    return {4: "ok"}[n + 1]\n', "work.py")
    result = mutate(small, small.root / "work.py")
    assert result.code == 0, result
    assert "mutation score: 100 % (3 of 3 mutants killed, 3 of them by a crash)\n" in result.out


def test_what_a_program_leaves_in_its_tree_is_no_difference(small: Project) -> None:
    """The second run of the unchanged program and each planted one find the tree as it was."""
    small.script(
        'from pathlib import Path\nPath("seen").touch(exist_ok=False)\nPath("main.py").touch()\n' + WORK,
        "work.py",
    )
    result = mutate(small, small.root / "work.py", "--mutants", "3")
    assert result.code == 0, result
    assert "FileExistsError" not in result.out + result.err


def test_only_what_a_change_touched(small: Project) -> None:
    commit(small.root)
    result = mutate(small, "--base", "HEAD")
    assert (result.code, "no line of Python that can run was changed since HEAD" in result.err) == (4, True)
    small.script(WORK.replace("return n + 1", "return 1 + n"), "work.py")
    result = mutate(small, "--base", "HEAD")
    assert "plan: 2 mutants in 1 file" in result.out
    assert "mutation score: 100 % (2 of 2 mutants killed)\n" in result.out
    # A file that is neither committed nor ignored is part of the change, and of the copies.
    small.script("def fit(n):\n    return n * 2\n", "other.py")
    small.script(MAIN.replace("from work", "from other"), "main.py")
    assert "mutation score: 100 % (2 of 2" in mutate(small, "--base", "HEAD", small.root / "other.py").out


@pytest.mark.parametrize(
    ("text", "options", "code", "message"),
    [
        (WORK, [], 2, "say where: name files or folders, or a change with --base REF"),
        (WORK, ["/elsewhere.py"], 2, "is not in"),
        (WORK, ["{root}/golden"], 2, "no Python file of the repository is there"),
        (WORK, ["{root}/work.py", "--run", "nothing"], 2, "no run called nothing"),
        ("fit = str\n", ["{root}/work.py"], 4, "no mutant can be made of lines that these runs execute"),
        ("import os\nfit = lambda n: os.getpid()\n", ["{root}/work.py"], 4, "train differs from itself"),
        ("fit = 1 / 0\n", ["{root}/work.py"], 3, "ZeroDivisionError"),
    ],
)
def test_nothing_to_say(small: Project, text: str, options: list[str], code: int, message: str) -> None:
    small.script(text, "work.py")
    result = mutate(small, *(option.format(root=small.root) for option in options))
    assert result.code == code, result
    assert message in result.err


def test_it_is_told_at_its_own_line(small: Project) -> None:
    small.script("def fit(n):\n    return dict(\n        a=n,\n        b=5,\n    ) and n\n", "work.py")
    assert "survived:\n  work.py:4 in fit: constant" in mutate(small, small.root / "work.py").out
