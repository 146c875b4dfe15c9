"""Rebound captures kept in an object that the outer function and its helpers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemods.catalogue import read
from tests.codemods.extract.conftest import Command
from tests.codemods.modes.conftest import Rewrite

KEPT, REFUSED = read(Path(__file__).with_name("box.md"))


@pytest.mark.parametrize("case", KEPT)
def test_the_program_prints_the_same(case: str, same: Rewrite, tmp_path: Path) -> None:
    ran = same(KEPT[case], "--helper", "h", "--cell", "h")
    assert ran.helpers["h"]["status"] == "lifted"
    assert "(slots=True)" in (tmp_path / "program.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("case", KEPT)
def test_so_it_does_with_the_function_in_a_file_of_its_own(case: str, same: Rewrite, tmp_path: Path) -> None:
    same(KEPT[case], "--helper", "h", "--cell", "h", "--to", str(tmp_path / "lifted.py"))
    assert "def h(" in (tmp_path / "lifted.py").read_text()


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_box_would_change_is_refused(case: str, refused: Callable[..., str]) -> None:
    code, program = REFUSED[case]
    assert refused(program, "--helper", "h", "--cell", "h") == code


def test_without_being_asked_for_there_is_none(refused: Callable[..., str]) -> None:
    program = KEPT["the write stays when the helper raises"]
    assert refused(program, "--helper", "h") == "nonlocal-write"


def test_a_box_and_a_residual_for_a_helper_that_is_a_value(same: Rewrite, tmp_path: Path) -> None:
    same(REFUSED["a value"][1] + "print(outer())\n", "--cell", "h", "--wrapper", "h")
    assert "def _h(k, *, state" in (tmp_path / "program.py").read_text()


@pytest.mark.parametrize(
    "body",
    [
        "nonlocal n\n        print(k)\n        n += k",
        "nonlocal n\n        nonlocal m\n        print(n)\n        n += k\n        m = n",
        "n_before = k\n        # shared\n        nonlocal n\n        'a text'\n        n = n_before",
        "'its docstring'\n        # shared\n        nonlocal n, m",
    ],
)
def test_a_declaration_beside_other_statements_leaves_nothing(
    same: Rewrite, tmp_path: Path, body: str
) -> None:
    same(
        "def outer():\n    n = m = 0\n"
        f"    def h(k):\n        {body}\n"
        "    def g():\n        nonlocal n, m\n        n += 1\n        m += 1\n"
        "    h(2)\n    g()\n    return n + m\nprint(outer())\n",
        *("--cell", "h", "--cell", "g"),
    )
    text = (tmp_path / "program.py").read_text()
    assert ("pass" in text) == ("# shared" in body)
    assert ("# shared" in text) == ("# shared" in body)


def test_a_name_that_no_helper_has_is_an_error(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(KEPT["in a method"])
    ran = extract(path, "--cell", "g")
    assert ran.code == 2
    assert "there is no helper g" in ran.err


def test_a_plan_asks_for_it_by_name(tmp_path: Path, extract: Command, execute: Callable[..., str]) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    program = (
        "def outer():\n    n = 0\n    def h(k):\n        nonlocal n\n        n += k\n"
        "    h(2)\n    return n\nif __name__ == '__main__':\n    print(outer())\n"
    )
    (tmp_path / "program.py").write_text(program)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'version = 1\nsource = "program.py"\nfunction = "outer"\n'
        '[[move]]\nto = "a.py"\nnames = ["h"]\ncell = ["h"]\n'
    )
    before = execute(tmp_path, "program.py")
    ran = extract("--plan", plan, "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "program.py") == before
    (tmp_path / "program.py").write_text(program)
    plan.write_text(plan.read_text().replace('cell = ["h"]', 'cell = ["k"]'))
    assert "plan.toml:7: cell names k" in extract("--plan", plan).err
