"""Assumptions that a user accepts: what is lifted, what the report says, what may not be accepted."""

from pathlib import Path

import pytest

from tests.codemods.conftest import Command

PROGRAM = """\
import sys

def caller():
    return sys._getframe(1).f_code.co_name

def outer(n):
    def h(x):
        return caller(), x + n
    return h(1)
"""
PLAN = """\
version = 1
source = "program.py"
function = "outer"
accept = [
    { code = "introspection", reason = "names are only logged" },
    { code = "lifetimes", reason = "none" },
]

[[move]]
to = "lifted.py"
names = ["h"]
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def test_a_refused_helper_names_the_option_and_is_lifted_with_it(program: Path, extract: Command) -> None:
    refused = extract(program)
    assert refused.code == 1
    assert "or accept it: --accept introspection" in refused.out
    ran = extract(program, "--accept", "introspection", "--write")
    assert ran.code == 0
    assert "accepted introspection (given on the command line): Nothing looks at frames" in ran.out
    assert "h: line 4: _getframe is used here" in ran.out
    assert "golden ab --base HEAD RUN" in ran.out
    assert "_h(1, n=n)" in program.read_text()


@pytest.mark.parametrize(
    "modes",
    [("--wrapper", "h"), ("--cell", "h")],
    ids=["residual", "box"],
)
def test_acceptances_hold_for_every_kind_of_lift(
    program: Path, extract: Command, modes: tuple[str, str]
) -> None:
    ran = extract(program, "--accept", "introspection", *modes, "--output-format", "json")
    assert ran.code == 0
    assert ran.helpers["h"]["status"] == "lifted"


def test_a_plan_accepts_with_reasons_and_says_which_was_not_needed(program: Path, extract: Command) -> None:
    plan = program.with_name("plan.toml")
    plan.write_text(PLAN)
    ran = extract("--plan", plan)
    assert ran.code == 0, ran.out
    assert "accepted introspection (names are only logged)" in ran.out
    assert "accepted lifetimes: nothing is refused for it here; leave the acceptance out" in ran.out
    accepted = extract("--plan", plan, "--output-format", "json").json["accepted"]
    assert [each["code"] for each in accepted] == ["introspection", "lifetimes"]
    assert accepted[0]["reason"] == "names are only logged"
    assert accepted[0]["overruled"] == [{"name": "h", "line": 4, "reason": "_getframe is used here"}]
    assert accepted[1]["overruled"] == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("value-use", "value-use is an exact rule and can't be accepted; these can: annotations-evaluated, "),
        ("hope", "there is no code hope; these can be accepted: annotations-evaluated, "),
    ],
)
def test_only_assumptions_are_accepted(program: Path, extract: Command, code: str, message: str) -> None:
    ran = extract(program, "--accept", code)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert message in ran.err
    plan = program.with_name("plan.toml")
    plan.write_text(PLAN.replace("introspection", code))
    ran = extract("--plan", plan)
    assert ran.code == 2
    assert f"{plan.name}: {message}" in ran.err


def test_an_acceptance_without_a_reason_is_an_error(program: Path, extract: Command) -> None:
    plan = program.with_name("plan.toml")
    plan.write_text(PLAN.replace(', reason = "none"', ""))
    ran = extract("--plan", plan)
    assert ran.code == 2
    assert "accept.1.reason" in ran.err


def test_a_plan_and_the_option_exclude_each_other(program: Path, extract: Command) -> None:
    plan = program.with_name("plan.toml")
    plan.write_text(PLAN)
    ran = extract("--plan", plan, "--accept", "introspection")
    assert ran.code == 2
    assert "leave them out with --plan" in ran.err
