"""The refactorings that reviews are measured on do not change what a program does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.real.refactorings import refactor

PROGRAM = """
import math
import sys as system

LIMIT = 3


def root(value, *, digits=2):
    result = round(math.sqrt(value), digits)
    return result


def roots(values):
    found = []
    for value in values:
        answer = root(value)
        found.append(answer)
    return found


def limited(values):
    return [value for value in values if value > LIMIT]


def told(values):
    total = sum(values)
    try:
        rest = total % 7
    except TypeError as error:
        rest = str(error)
    return f"{total} and {rest}"


if __name__ == "__main__":
    system.stdout.write(f"{roots([1, 2, 3])} {limited([3, 4])} {told([5, 6])}\\n")
"""


@pytest.mark.parametrize("kind", ["moved", "renamed"])
def test_a_refactored_program_prints_the_same(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    before = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
    changed = refactor(kind, tmp_path, [path], "seed")
    assert path in changed
    assert path.read_text() != PROGRAM
    assert subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout == before


def test_functions_that_need_more_than_imports_stay(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert refactor("moved", tmp_path, [path], "seed") == [path, tmp_path / "program_moved.py"]
    moved = (tmp_path / "program_moved.py").read_text()
    assert "def root" in moved
    assert "def roots" in moved
    assert "def limited" not in moved


def test_the_seed_chooses(tmp_path: Path) -> None:
    files = [tmp_path / f"program_{number}.py" for number in range(8)]
    chosen = []
    for seed in ("one", "one", "two"):
        for path in files:
            path.write_text(PROGRAM)
        chosen.append(refactor("renamed", tmp_path, files, seed))
    assert chosen[0] == chosen[1] != chosen[2]
