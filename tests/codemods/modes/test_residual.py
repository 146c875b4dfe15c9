"""A residual keeps what a value shows: identity, name, signature, kind, late binding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.program.lifting import Analysis
from codemods.program.source import parse_source
from tests.codemods.catalogue import read
from tests.codemods.extract.conftest import Command
from tests.codemods.modes.conftest import Rewrite

KEPT, REFUSED = read(Path(__file__).with_name("residual.md"))


@pytest.mark.parametrize("case", KEPT)
def test_the_program_prints_the_same(case: str, same: Rewrite) -> None:
    ran = same(KEPT[case], "--helper", "h", "--wrapper", "h")
    assert ran.helpers["h"]["status"] == "lifted"


@pytest.mark.slow
@pytest.mark.parametrize("case", KEPT)
def test_so_it_does_with_the_function_in_a_file_of_its_own(case: str, same: Rewrite, tmp_path: Path) -> None:
    ran = same(KEPT[case], "--helper", "h", "--wrapper", "h", "--to", str(tmp_path / "lifted.py"))
    assert ran.helpers["h"]["target"] == "lifted.py"
    assert "def h(" in (tmp_path / "lifted.py").read_text()


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_residual_would_change_is_refused(case: str, refused: Callable[..., str]) -> None:
    code, program = REFUSED[case]
    assert refused(program, "--helper", "h", "--wrapper", "h") == code


def test_refusals_name_lines_of_the_file_as_it_is(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(REFUSED["rebound while the helper may run"][1])
    ran = extract(path, "--wrapper", "h", "--output-format", "json")
    assert ran.helpers["h"]["reason"].startswith("line 7: n may be rebound here, while what line 6")


def test_without_being_asked_for_none_is_left(tmp_path: Path, refused: Callable[..., str]) -> None:
    assert refused(KEPT["identity for every call of the outer function"]) == "value-use"


def test_a_name_that_no_helper_has_is_an_error(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(KEPT["one line"])
    ran = extract(path, "--wrapper", "g")
    assert ran.code == 2
    assert "there is no helper g" in ran.err


def test_what_stays_is_one_closure_that_captures_what_it_hands_over(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text("def outer(n, m):\n    def h(x):\n        return x + n * m\n    return h\n")
    assert extract(path, "--wrapper", "h", "--write").code == 0
    analysis = Analysis(parse_source(path.read_text(), "program.py"))
    assert [(helper.name, helper.captures) for helper in analysis.helpers] == [("h", ("n", "m"))]


def test_another_helper_is_lifted_beside_a_refused_residual(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "def outer(n):\n    def g():\n        return n\n    def h():\n        return 1 if h else g()\n"
        "    return h, g()\n"
    )
    ran = extract(path, "--wrapper", "h", "--output-format", "json", "--write")
    assert ran.code == 1
    assert {name: helper["status"] for name, helper in ran.helpers.items()} == {"g": "lifted", "h": "refused"}


PLAN = """
version = 1
source = "program.py"
function = "outer"

[[move]]
to = "parts.py"
names = ["g", "h"]
wrapper = ["h"]
rename = {{ h = "{new}" }}
"""
PROGRAM = """\
def outer(n):
    def g(x):
        return x * n
    def h(x):
        return g(x) + n
    return list(map(h, [1, 2])), h.__name__
if __name__ == "__main__":
    print(outer(3))
"""


def test_a_plan_asks_for_it_by_name(tmp_path: Path, extract: Command, execute: Callable[..., str]) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "plan.toml").write_text(PLAN.format(new="shifted"))
    (tmp_path / "pyproject.toml").write_text("")
    before = execute(tmp_path, "program.py")
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "program.py") == before
    assert "def shifted(x, *, " in (tmp_path / "parts.py").read_text()


def test_a_plan_may_only_name_what_it_moves(tmp_path: Path, extract: Command) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(new="shifted").replace('wrapper = ["h"]', 'wrapper = ["k"]'))
    ran = extract("--plan", plan)
    assert ran.code == 2
    assert f"{plan}:9: wrapper names k, which is no helper among the names moved" in ran.err
