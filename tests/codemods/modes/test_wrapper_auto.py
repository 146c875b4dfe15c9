"""Wrappers of every helper that is used as a value, by one option."""

from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute

PROGRAM = """\
def outer(n, xs):
    def h(x):
        return x + n
    def g(x):
        return x * n
    return list(map(h, xs)), g(2)

print(outer(2, [1]))
"""
PLAN = """\
version = 1
source = "program.py"
function = "outer"

[[move]]
to = "lifted.py"
names = ["*"]
wrapper = "auto"
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


def test_the_refusal_names_the_option(program: Path, extract: Command) -> None:
    ran = extract(program)
    assert ran.code == 1
    assert "--wrapper auto" in ran.out


def test_values_get_wrappers_and_the_others_none(program: Path, extract: Command, execute: Execute) -> None:
    before = execute(program.parent, "program.py")
    ran = extract(program, "--wrapper", "auto", "--write")
    assert ran.code == 0, ran.out
    text = program.read_text()
    assert "def outer(n, xs):\n    def h(x):\n        return _h(x, n=n)" in text
    assert "def g(" not in text
    assert execute(program.parent, "program.py") == before


DECORATED = """\
import functools

def logged(function):
    @functools.wraps(function)
    def inner(*args, **more):
        \"\"\"Call it.\"\"\"
        print(function.__name__, args, more)
        return function(*args, **more)
    return inner

@logged
def scaled(x, **more):
    def h(y, **kw):
        return x * y, kw
    return h(2, **more)

print(scaled.__name__, scaled(3, a=1))
"""


def test_what_is_decorated_or_called_with_keywords_gets_one_too(
    program: Path, extract: Command, execute: Execute
) -> None:
    program.write_text(DECORATED)
    before = execute(program.parent, "program.py")
    ran = extract(program, "--wrapper", "auto", "--write", "--output-format", "json")
    assert [(name, h["status"]) for name, h in ran.helpers.items()] == [("inner", "lifted"), ("h", "lifted")]
    assert execute(program.parent, "program.py") == before


@pytest.mark.parametrize("text", [PROGRAM, DECORATED])
def test_a_second_run_changes_nothing(text: str, program: Path, extract: Command) -> None:
    program.write_text(text)
    assert extract(program, "--wrapper", "auto", "--write").code == 0
    again = extract(program, "--wrapper", "auto", "--check")
    assert again.code == 0, again.out


@pytest.mark.parametrize("to", ["program.py", "lifted.py"])
def test_a_helper_inside_one_with_a_wrapper_gets_one(
    to: str, program: Path, extract: Command, execute: Execute
) -> None:
    program.write_text(
        "def repeated(n):\n    def decorate(f):\n        def again(x):\n            return [f(x)] * n\n"
        "        return again\n    return decorate\n\nprint(repeated(2)(abs)(-1))\n\n"
        "def doubled(n):\n    def each(xs):\n        def two(x):\n            return n * x\n"
        "        return list(map(two, xs))\n    return each([3])\n\nprint(doubled(2))\n"
    )
    before = execute(program.parent, "program.py")
    there = ["--to", program.with_name(to)] if to != program.name else []
    ran = extract(program, "--wrapper", "auto", *there, "--write", "--output-format", "json")
    assert {h["status"] for h in ran.helpers.values()} == {"lifted"}, ran.out
    assert extract(program, "--wrapper", "auto", "--check").code == 0
    assert execute(program.parent, "program.py") == before


def test_a_helper_inside_one_that_shares_a_variable_gets_one(
    program: Path, extract: Command, execute: Execute
) -> None:
    program.write_text(
        "def outer(n):\n    total = 0\n    def add(x):\n        nonlocal total\n"
        "        def step(y):\n            return y + n + total\n        total += list(map(step, [x]))[0]\n"
        "        return total\n    return list(map(add, [1, 2])), total\n\nprint(outer(3))\n"
    )
    before = execute(program.parent, "program.py")
    ran = extract(program, "--wrapper", "auto", "--cell", "add", "--write")
    assert ran.code == 0, ran.out
    assert execute(program.parent, "program.py") == before


def test_a_plan_asks_for_all_helpers_of_a_function(program: Path, extract: Command, execute: Execute) -> None:
    before = execute(program.parent, "program.py")
    program.with_name("plan.toml").write_text(PLAN)
    ran = extract("--plan", program.with_name("plan.toml"), "--write")
    assert ran.code == 0, ran.out
    assert "def g(" not in program.read_text()
    assert execute(program.parent, "program.py") == before


def test_a_helper_that_can_have_no_wrapper_says_why(program: Path, extract: Command) -> None:
    program.write_text("import sys\n\n" + PROGRAM.replace("x + n", "sys.getrecursionlimit() + n"))
    ran = extract(program, "--wrapper", "auto", "--output-format", "json")
    assert ran.code == 1
    assert ran.helpers["h"]["code"] == "introspection"
    assert ran.helpers["g"]["status"] == "lifted"


def test_any_other_wrapper_is_an_error(program: Path, extract: Command) -> None:
    assert extract(program, "--wrapper", "some").code == 2
    program.with_name("plan.toml").write_text(PLAN.replace('"auto"', '"some"'))
    ran = extract("--plan", program.with_name("plan.toml"))
    assert ran.code == 2
    assert "move.0.wrapper" in ran.err
