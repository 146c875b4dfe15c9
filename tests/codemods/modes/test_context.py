"""Captures collected in one frozen object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemods.catalogue import read
from tests.codemods.extract.conftest import Command
from tests.codemods.modes.conftest import Rewrite

KEPT, REFUSED = read(Path(__file__).with_name("context.md"))


@pytest.mark.parametrize("case", KEPT)
def test_the_program_prints_the_same(case: str, same: Rewrite, tmp_path: Path) -> None:
    same(KEPT[case], "--helper", "h", "--captures", "context")
    assert "(frozen=True, slots=True)" in (tmp_path / "program.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("case", KEPT)
def test_so_it_does_with_the_functions_in_a_file_of_their_own(
    case: str, same: Rewrite, tmp_path: Path
) -> None:
    same(KEPT[case], "--helper", "h", "--captures", "context", "--to", str(tmp_path / "lifted.py"))
    assert ".n" in (tmp_path / "lifted.py").read_text() or case not in ("a method", "annotations")


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_context_would_freeze_is_refused(case: str, refused: Callable[..., str]) -> None:
    code, program = REFUSED[case]
    assert refused(program, "--helper", "h", "--captures", "context") == code


def test_a_helper_of_which_a_residual_stays_is_passed_its_captures(
    tmp_path: Path, extract: Command, execute: Callable[..., str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "def outer(n):\n    def g():\n        return n\n    def h(x):\n        return x + n\n"
        "    first = h\n    return g(), list(map(first, [1]))\nprint(outer(1))\n"
    )
    before = execute(tmp_path, "program.py")
    ran = extract(path, "--captures", "context", "--wrapper", "h", "--write", "--output-format", "json")
    assert {helper["status"] for helper in ran.json["helpers"]} == {"lifted"}
    assert "def _h(x, *, n):" in path.read_text()
    assert "def _g(*, context" in path.read_text()
    assert execute(tmp_path, "program.py") == before


def test_a_plan_asks_for_it_by_move(tmp_path: Path, extract: Command, execute: Callable[..., str]) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "program.py").write_text(
        "def outer(n):\n    def g():\n        return n\n    def h(x):\n        return x + n\n"
        "    return g(), h(1)\nif __name__ == '__main__':\n    print(outer(1))\n"
    )
    (tmp_path / "plan.toml").write_text(
        'version = 1\nsource = "program.py"\nfunction = "outer"\n'
        '[[move]]\nto = "a.py"\nnames = ["g"]\n[[move]]\nto = "b.py"\nnames = ["h"]\ncaptures = "context"\n'
    )
    before = execute(tmp_path, "program.py")
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert "def g(*, n):" in (tmp_path / "a.py").read_text()
    assert "def h(x, *, context" in (tmp_path / "b.py").read_text()
    assert execute(tmp_path, "program.py") == before


def test_another_way_of_passing_captures_is_an_error(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(KEPT["a method"])
    assert extract(path, "--captures", "list").code == 2


def test_a_residual_is_not_left_of_what_a_context_refuses(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "def outer(n):\n    def g():\n        return f'{n=}'\n    def h(x):\n        return x + n\n"
        "    return g(), list(map(h, [1]))\n"
    )
    ran = extract(
        path, "--captures", "context", "--wrapper", "h", "--wrapper", "g", "--output-format", "json"
    )
    assert {helper["status"] for helper in ran.json["helpers"]} == {"lifted"}
    ran = extract(path, "--captures", "context", "--wrapper", "h", "--output-format", "json")
    assert {name: helper["code"] for name, helper in ran.helpers.items()} == {"g": "not-proven", "h": None}
