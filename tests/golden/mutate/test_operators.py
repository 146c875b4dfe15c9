"""Each operator by the cases that stand beside it, and what all of them have in common."""

from __future__ import annotations

import ast

import pytest

from golden.mutate.mutants import mutants
from golden.mutate.operators import OPERATORS, Operator
from golden.mutate.plan import same_program
from golden.reach.changed import compiled

MAKES = [(operator, *case) for operator in OPERATORS for case in operator.makes]
LEAVES = [(operator, text) for operator in OPERATORS for text in operator.leaves]


def made(operator: Operator, text: str) -> list[str]:
    data = text.encode()
    found = (mutant for mutant in mutants("a.py", data) if mutant.operator == operator.name)
    return [mutant.applied(data).decode() for mutant in found]


@pytest.mark.parametrize(("operator", "before", "after"), MAKES, ids=lambda case: getattr(case, "name", None))
def test_makes(operator: Operator, before: str, after: str) -> None:
    found = made(operator, before)
    assert after in found
    assert len(after.splitlines()) == len(before.splitlines())
    for text in found:
        ast.parse(text)


@pytest.mark.parametrize(("operator", "text"), LEAVES, ids=lambda case: getattr(case, "name", None))
def test_leaves(operator: Operator, text: str) -> None:
    assert made(operator, text) == []


def test_what_never_runs_is_left_alone() -> None:
    text = (
        '"""A sum + 1."""\nfrom a import b\nx: int\ndef f(y: "1 + 1" = None) -> 3: ...\nassert x > 1, x + 1\n'
    )
    assert list(mutants("a.py", text.encode())) == []


@pytest.mark.parametrize("text", ["def (", "x = '\n", "# -*- coding: nothing -*-\nx = 1\n", "x = 1\0\n"])
def test_nothing_of_what_is_no_python(text: str) -> None:
    assert list(mutants("a.py", text.encode())) == []


def test_other_encodings_and_line_ends_stay() -> None:
    data = "# -*- coding: latin-1 -*-\r\nx = 'é'\r\ny = 1 + z\r\n".encode("latin-1")
    texts = {found.applied(data) for found in mutants("a.py", data)}
    assert "# -*- coding: latin-1 -*-\r\nx = 'é'\r\ny = 1 - z\r\n".encode("latin-1") in texts


def test_every_statement_of_python_has_its_lines() -> None:
    text = """
match a + 1:
    case [1, x] if x > 2:
        y = 3
    case _:
        pass
try:
    z = 4
except* (A, f(5)):
    w = 6
async def g():
    async with h(7) as k:
        return 8
while v > 9:
    u = 10
"""
    lines = {found.first: found.needs for found in mutants("a.py", text.encode())}
    assert lines[2] == {2}
    assert lines[3] == {3}
    assert lines[9] == {9}
    assert lines[12] == {12}
    assert set(lines) == {2, 3, 4, 8, 9, 10, 12, 13, 14, 15}


def test_part_of_a_long_expression_has_its_own_lines() -> None:
    text = "x = (\n    a + 1\n    if b\n    else c + 2\n)\n"
    needed = {(found.operator, found.after): found.needs for found in mutants("a.py", text.encode())}
    assert needed["arithmetic", "a - 1"] == {2}
    assert needed["constant", "else c + 3"] == {4}


def test_byte_order_mark_stays() -> None:
    data = "\ufeffx = 'é'; y = 1 + z\n".encode()
    assert "\ufeffx = 'é'; y = 1 - z\n".encode() in {m.applied(data) for m in mutants("a.py", data)}


def test_identity_stays_when_lines_move() -> None:
    data = b"def f(a):\n    return a + 1\n"
    here = {found.name: found.first for found in mutants("a.py", data)}
    there = {found.name: found.first for found in mutants("a.py", b"\n# more\n" + data)}
    assert list(here) == list(there)
    assert {line + 2 for line in here.values()} == set(there.values())


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x = 1", "x = 1  # why", True),
        ("x = 2 - 2", "x = 0", True),
        ("x = 1", "x = 1.0", False),
        ("x = 0.0", "x = -0.0", False),
        ("x = (1, 2)", "x = (True, 2)", False),
        ("def f(a): return a", "def f(b): return b", False),
        ("def f(): return lambda: 1", "def f(): return lambda: 2", False),
        ("x in {1, 2}", "x in {1, 2.0}", False),
    ],
)
def test_equivalents(left: str, right: str, same: bool) -> None:
    codes = compiled(left.encode()), compiled(right.encode())
    assert codes[0] is not None
    assert codes[1] is not None
    assert same_program(*codes) is same
