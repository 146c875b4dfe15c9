"""Lifts that a plain one can't do: wrappers that stay, cells for rebound captures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.program.lifting import Analysis
from codemods.program.source import parse_source
from tests.codemods.catalogue import read
from tests.codemods.conftest import Command, Execute, Ran

OPTIONS = {
    "residual": ("--wrapper", "h"),
    "box": ("--cell", "h"),
}
CASES = {mode: read(Path(__file__).with_name(f"{mode}.md")) for mode in OPTIONS}
KEPT = [(mode, case) for mode, (kept, _) in CASES.items() for case in kept]
REFUSED = [(mode, case) for mode, (_, refused) in CASES.items() for case in refused]


Rewrite = Callable[..., Ran]


@pytest.fixture
def same(tmp_path: Path, extract: Command, execute: Execute) -> Rewrite:
    """Rewrite a program, check that it prints what it printed; what the command gave."""

    def run(program: str, *options: str) -> Ran:
        (tmp_path / "pyproject.toml").write_text("")
        path = tmp_path / "program.py"
        path.write_text(program)
        before = execute(tmp_path, "program.py")
        assert before
        ran = extract(path, *options, "--output-format", "json", "--write")
        assert ran.code == 0, ran.err + ran.out
        assert path.read_text() != program
        assert execute(tmp_path, "program.py") == before
        return ran

    return run


@pytest.fixture
def refused(tmp_path: Path, extract: Command) -> Callable[..., str]:
    """Try to rewrite a program; the code with which its one helper asked for is refused."""

    def run(program: str, *options: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(program)
        ran = extract(path, *options, "--output-format", "json", "--write")
        assert ran.code == 1, ran.err + ran.out
        assert path.read_text() == program
        codes = [helper["code"] for helper in ran.json["helpers"] if helper["status"] == "refused"]
        reasons = [helper["reason"] for helper in ran.json["helpers"] if helper["status"] == "refused"]
        assert len(codes) == 1
        assert reasons[0].startswith("line ")
        return str(codes[0])

    return run


@pytest.mark.parametrize(("mode", "case"), KEPT)
def test_the_program_prints_the_same(mode: str, case: str, same: Rewrite, tmp_path: Path) -> None:
    ran = same(CASES[mode][0][case], "--helper", "h", *OPTIONS[mode])
    assert ran.helpers["h"]["status"] == "lifted"
    assert mode == "residual" or "SimpleNamespace(" in (tmp_path / "program.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "case"), KEPT)
def test_so_it_does_with_the_function_in_a_file_of_its_own(
    mode: str, case: str, same: Rewrite, tmp_path: Path
) -> None:
    to = tmp_path / "lifted.py"
    ran = same(CASES[mode][0][case], "--helper", "h", *OPTIONS[mode], "--to", str(to))
    assert ran.helpers["h"]["target"] == "lifted.py"
    assert "def h(" in to.read_text()


@pytest.mark.parametrize(("mode", "case"), REFUSED)
def test_what_it_would_change_is_refused(mode: str, case: str, refused: Callable[..., str]) -> None:
    code, program = CASES[mode][1][case]
    assert refused(program, "--helper", "h", *OPTIONS[mode]) == code


@pytest.mark.parametrize(
    ("mode", "case", "code"),
    [
        ("residual", "identity for every call of the outer function", "value-use"),
        ("box", "the write stays when the helper raises", "nonlocal-write"),
    ],
)
def test_without_being_asked_for_there_is_none(
    mode: str, case: str, code: str, refused: Callable[..., str]
) -> None:
    assert refused(CASES[mode][0][case], "--helper", "h") == code


@pytest.mark.parametrize("option", ["--wrapper", "--cell"])
def test_a_name_that_no_helper_has_is_an_error(option: str, tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(CASES["residual"][0]["one line"])
    ran = extract(path, option, "g")
    assert ran.code == 2
    assert "there is no helper g" in ran.err


def test_refusals_name_lines_of_the_file_as_it_is(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(CASES["residual"][1]["rebound while the helper may run"][1])
    ran = extract(path, "--wrapper", "h", "--output-format", "json")
    assert ran.helpers["h"]["reason"].startswith("line 7: n may be rebound here, while what line 6")


def test_what_stays_is_one_closure_that_captures_what_it_hands_over(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text("def outer(n, m):\n    def h(x):\n        return x + n * m\n    return h\n")
    assert extract(path, "--wrapper", "h", "--write").code == 0
    analysis = Analysis(parse_source(path.read_text(), "program.py"))
    assert [(helper.name, helper.captures) for helper in analysis.helpers] == [("h", ("n", "m"))]


def test_another_helper_is_lifted_beside_a_refused_one(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "def outer(n):\n    def g():\n        return n\n    def h():\n        return 1 if h else g()\n"
        "    return h, g()\n"
    )
    ran = extract(path, "--wrapper", "h", "--output-format", "json", "--write")
    assert ran.code == 1
    assert {name: helper["status"] for name, helper in ran.helpers.items()} == {"g": "lifted", "h": "refused"}


def test_a_cell_and_a_wrapper_for_a_helper_that_is_a_value(same: Rewrite, tmp_path: Path) -> None:
    same(CASES["box"][1]["a value"][1] + "print(outer())\n", "--cell", "h", "--wrapper", "h")
    assert "def _h(k, *, state" in (tmp_path / "program.py").read_text()


@pytest.mark.parametrize(
    "body",
    [
        "nonlocal n\n        nonlocal m\n        print(n)\n        n += k\n        m = n",
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
    assert ("pass" in text) == ("# shared" in text) == ("# shared" in body)


def test_a_helper_of_which_a_wrapper_stays_is_passed_its_captures(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "def outer(n):\n    def g():\n        return n\n    def h(x):\n        return x + n\n"
        "    first = h\n    return g(), list(map(first, [1]))\nprint(outer(1))\n"
    )
    before = execute(tmp_path, "program.py")
    ran = extract(path, "--wrapper", "h", "--write", "--output-format", "json")
    assert {helper["status"] for helper in ran.json["helpers"]} == {"lifted"}
    assert "def _h(x, *, n):" in path.read_text()
    assert "def _g(*, n)" in path.read_text()
    assert execute(tmp_path, "program.py") == before


PROGRAM = """\
def outer(n):
    total = 0
    def g(x):
        return x * n
    def h(x):
        return g(x) + n
    def k(x):
        nonlocal total
        total += x
    k(2)
    return list(map(h, [1, 2])), h.__name__, total
if __name__ == "__main__":
    print(outer(3))
"""
PLAN = """
version = 1
source = "program.py"
function = "outer"
[[move]]
to = "parts.py"
names = ["h", "k"]
wrapper = ["h"]
cell = ["k"]
rename = { h = "shifted" }
[[move]]
to = "more.py"
names = ["g"]
"""


def test_a_plan_asks_for_each_by_move(tmp_path: Path, extract: Command, execute: Execute) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "pyproject.toml").write_text("")
    before = execute(tmp_path, "program.py")
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "program.py") == before
    assert "def shifted(x, *, " in (tmp_path / "parts.py").read_text()
    assert "def k(x, *, state" in (tmp_path / "parts.py").read_text()
    assert "def g(x, *, n)" in (tmp_path / "more.py").read_text()


@pytest.mark.parametrize("key", ["wrapper", "cell"])
def test_a_plan_may_only_name_what_it_moves(key: str, tmp_path: Path, extract: Command) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    plan = tmp_path / "plan.toml"
    old = {"wrapper": 'wrapper = ["h"]', "cell": 'cell = ["k"]'}[key]
    plan.write_text(PLAN.replace(old, f'{key} = ["z"]'))
    ran = extract("--plan", plan)
    assert ran.code == 2
    assert f"{plan}: {key} names z, which is no helper among the names moved" in ran.err
