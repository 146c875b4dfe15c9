"""A word that is edited in a file that has nothing to do with the plan changes no verdict."""

from __future__ import annotations

import ast
import os
import random
import re
from pathlib import Path

import pytest

from benchmarks.real.commands import run
from benchmarks.real.corpus import Program

EDITS = 100
_WORD = re.compile(rb"(?<![\w\\])[A-Za-z_]\w{2,}")
# Detectors of the tool look for such words.
_TELLING = (b"module", b"frame", b"inspect", b"source", b"name", b"patch", b"globals")


def _verdicts(root: Path, plan: Path) -> dict[str, str | None]:
    answer = run("extract", ["--plan", plan, "--root", root])
    assert answer.document is not None, answer.error
    return {row["qualname"]: row["code"] for row in answer.document["helpers"]}


def _unrelated(root: Path) -> list[Path]:
    """Files that name neither the module that the plan takes apart nor anything of its package."""
    about = re.compile(rb"vectorized|simic|train_ppo")
    files = sorted(path for path in root.rglob("*.py") if ".git" not in path.parts)
    return [
        path for path in files if not about.search(path.read_bytes() + str(path.relative_to(root)).encode())
    ]


def _edited(data: bytes, chosen: random.Random, words: list[bytes]) -> bytes:
    """The text with another word in the place of one; where no such text is Python, the text."""
    places = list(_WORD.finditer(data))
    for place in chosen.sample(places, min(20, len(places))):
        word = chosen.choice([*_TELLING, chosen.choice(words)])
        edited = data[: place.start()] + word + data[place.end() :]
        try:
            ast.parse(edited)
        except (SyntaxError, ValueError):
            continue
        if edited != data:
            return edited
    return data


@pytest.fixture(scope="module")
def plan(programs: dict[str, Program]) -> Path:
    (found,) = (program.plan for program in programs.values() if program.plan is not None)
    return found


def _planned(root: Path) -> list[tuple[Path, bytes]]:
    """A hundred edits of different files, the same every time."""
    chosen = random.Random(30)
    files = chosen.sample(_unrelated(root), EDITS)
    words = sorted({word for path in files for word in _WORD.findall(path.read_bytes())})
    return [(path, _edited(path.read_bytes(), chosen, words)) for path in files]


@pytest.mark.slow
def test_a_hundred_edits_at_once_change_no_verdict(studied: Path, plan: Path) -> None:
    before = _verdicts(studied, plan)
    edits = _planned(studied)
    kept = {path: path.read_bytes() for path, _ in edits}
    assert sum(kept[path] != data for path, data in edits) >= EDITS * 9 // 10
    try:
        for path, data in edits:
            path.write_bytes(data)
        after = _verdicts(studied, plan)
    finally:
        for path, data in kept.items():
            path.write_bytes(data)
    assert after == before


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("REAL") != "all", reason="takes seven minutes: REAL=all")
def test_each_of_a_hundred_edits_changes_no_verdict(studied: Path, plan: Path) -> None:
    before = _verdicts(studied, plan)
    changed = []
    for path, data in _planned(studied):
        kept = path.read_bytes()
        try:
            path.write_bytes(data)
            if _verdicts(studied, plan) != before:
                changed.append(path.relative_to(studied).as_posix())
        finally:
            path.write_bytes(kept)
    assert changed == []
