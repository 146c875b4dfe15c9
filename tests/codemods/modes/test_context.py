"""Captures collected in one frozen object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemods.extract.conftest import Command
from tests.codemods.modes.conftest import Rewrite

KEPT = {
    "two helpers, one calls the other": '''
"""About the file."""
def outer(n, flag, names):
    """About outer."""
    m = n + 1
    if flag:
        m = 2
    def g(x):
        return x + n + len(names)
    def h(x):
        return g(x) * m + sum(n for _ in names) + (lambda: n)()
    return h(1) + g(2)
print(outer(1, True, ["a"]), outer.__doc__, __doc__)
''',
    "annotations": """
from __future__ import annotations
# comment
import sys
def outer(n: int, k: list[int]):
    def h(x: int) -> int:
        return x + n + sum(k)
    return h(1)
print(outer(1, [2, 3]))
""",
    "names that mean something else in the file": """
dataclass = Any = context = 5
def outer(n):
    outer_context = 3
    def h(x):
        return x + n + outer_context
    return h(1)
print(outer(1), dataclass, Any, context)
""",
    "imported already": """
from dataclasses import dataclass
from typing import Any
@dataclass
class P:
    v: Any = 3
def outer(n):
    def h(x):
        return x + n + P().v
    return h(1)
print(outer(1))
""",
    "a method": """
class C:
    def f(self, n):
        def h(x):
            return x + n + self.k
        return h(1)
    k = 4
print(C().f(2))
""",
    "a capture that is called, and mutated": """
def outer(f, seen):
    def h(x):
        seen.append(f(x))
        seen[0] += 1
        return [f(y) for y in seen]
    return h(1), seen
print(outer(abs, []))
""",
    "a generator helper": """
def outer(n):
    m = n
    def h():
        yield n
        yield m
    return list(h())
print(outer(3))
""",
    "two outer functions": """
def one(n):
    def h():
        return n
    return h()
def two(n):
    def h():
        return -n
    return h()
print(one(1), two(2))
""",
    "statements that share a line": """
def outer(n):
    a = n; b = a + 1
    def h(): return a + b
    return h()
print(outer(3))
""",
    "in a conditional block of the module": """
if True:
    def outer(n):
        def h():
            return n
        return h()
print(outer(1))
""",
    "a value that it captures is another helper": """
def outer(n):
    def g(x):
        return x + n
    def h(xs):
        return list(map(g, xs))
    return h([1, 2])
print(outer(1))
""",
    "an import in the outer function": """
def outer():
    import math as m
    def h(x):
        return m.floor(x)
    return h(1.5)
print(outer())
""",
}


@pytest.mark.parametrize("case", KEPT)
def test_the_program_prints_the_same(case: str, same: Rewrite, tmp_path: Path) -> None:
    same(KEPT[case], "--helper", "h", "--captures", "context")
    assert "(frozen=True, slots=True)" in (tmp_path / "program.py").read_text()


@pytest.mark.parametrize("case", KEPT)
def test_so_it_does_with_the_functions_in_a_file_of_their_own(
    case: str, same: Rewrite, tmp_path: Path
) -> None:
    same(KEPT[case], "--helper", "h", "--captures", "context", "--to", str(tmp_path / "lifted.py"))
    assert ".n" in (tmp_path / "lifted.py").read_text() or case not in ("a method", "annotations")


REFUSED = {
    "rebound after the first call": (
        "capture-rebound",
        """
def outer():
    n = 1
    def h():
        return n
    first = h()
    n = 2
    return first, h()
""",
    ),
    "a loop variable": (
        "capture-rebound",
        """
def outer(ns):
    total = 0
    for n in ns:
        def h():
            return n
        total += h()
    return total
""",
    ),
    "called before a capture is settled": (
        "capture-rebound",
        """
def outer(n):
    def h(x):
        return x + n
    for n in (n, n + 1):
        if n:
            h(1)
    m = n
    return h(m)
""",
    ),
    "deleted in the end": (
        "capture-rebound",
        """
def outer(n):
    def h():
        return n
    v = h()
    del n
    return v
""",
    ),
    "an f-string prints its name": (
        "layout",
        """
def outer(n):
    def h():
        return f"{n=}"
    return h()
""",
    ),
    "what a plain lift refuses": (
        "nonlocal-write",
        """
def outer(n):
    def bump():
        nonlocal n
        n += 1
    def h():
        bump()
        return n
    return h()
""",
    ),
}


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
    assert {name: helper["code"] for name, helper in ran.helpers.items()} == {"g": "layout", "h": None}
