"""``[loop]``: a function's main loop as a method of a class in another file."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from codemods.rewrites.refusals import all_rules
from tests.codemods.conftest import Command, Ran
from tests.codemods.plans.loop_programs import REFUSED, TAKEN

PLAN = """\
version = 1
source = "program.py"
function = "train"

[loop]
class = "Trainer"
to = "looped.py"
"""


def write(folder: Path, program: str, plan: str = PLAN) -> None:
    """A project of one file, and a plan for it."""
    (folder / "pyproject.toml").write_text("")
    (folder / "program.py").write_text(program)
    (folder / "plan.toml").write_text(plan)


def carry_out(folder: Path, extract: Command) -> Ran:
    """Write what the plan makes."""
    return extract("--plan", folder / "plan.toml", "--write", "--output-format", "json")


@pytest.fixture(autouse=True)
def no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is written twice in a second must be read twice."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def behaviour(folder: Path, sizes: range = range(6)) -> list[Any]:
    """What the program prints, returns and raises, for several arguments."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    seen: list[Any] = []
    try:
        for size in sizes:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                try:
                    program = importlib.import_module("program")
                    result: object = repr(program.train(size))
                except Exception as error:
                    result = (type(error).__name__, str(error), repr(error.__context__))
            seen.append((out.getvalue(), result))
    finally:
        sys.path.remove(str(folder))
        for name in ("program", "looped"):
            sys.modules.pop(name, None)
    return seen


@pytest.mark.parametrize("name", TAKEN)
def test_the_program_does_the_same(name: str, tmp_path: Path, extract: Command) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        write(folder, TAKEN[name])
    ran = carry_out(new, extract)
    assert ran.code == 0, ran.err + ran.out
    assert "class Trainer" in (new / "looped.py").read_text()
    assert behaviour(new) == behaviour(old)


@pytest.mark.parametrize("name", REFUSED)
def test_the_program_is_refused(name: str, tmp_path: Path, extract: Command) -> None:
    code, program = REFUSED[name]
    write(tmp_path, program)
    ran = carry_out(tmp_path, extract)
    assert (ran.code, ran.json["helpers"][-1]["code"]) == (1, code), ran.err + ran.out
    assert (tmp_path / "program.py").read_text() == program
    assert not (tmp_path / "looped.py").exists()


@pytest.mark.parametrize("name", [name for name, (code, _) in REFUSED.items() if code == "unbound-reads"])
def test_what_may_be_unbound_is_none_first_where_that_is_accepted(
    name: str, tmp_path: Path, extract: Command
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        write(
            folder, REFUSED[name][1], PLAN + '[[accept]]\ncode = "unbound-reads"\nreason = "none is read"\n'
        )
    ran = carry_out(new, extract)
    assert ran.code == 0, ran.err + ran.out
    (accepted,) = ran.json["accepted"]
    assert (accepted["code"], len(accepted["overruled"])) == ("unbound-reads", 1)
    for before, after in zip(behaviour(old), behaviour(new), strict=True):
        assert after == before or before[1][0] == "UnboundLocalError"


RULES = all_rules()
EXAMPLES = {
    f"{code}-{number}": (code, *pair)
    for code, rule in sorted(RULES.items())
    for number, pair in enumerate(rule.pairs, 1)
    if pair[0].startswith("#% loop\n")
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_code_refuses_one_example_and_takes_the_other(
    name: str, tmp_path: Path, extract: Command
) -> None:
    assert len(EXAMPLES) == 11
    code, refused, lifted = EXAMPLES[name]
    write(tmp_path, refused)
    assert carry_out(tmp_path, extract).json["helpers"][-1]["code"] == code
    write(tmp_path, lifted)
    before = behaviour(tmp_path)
    assert carry_out(tmp_path, extract).code == 0
    assert behaviour(tmp_path) == before
    assert code in extract("--explain", code).out
