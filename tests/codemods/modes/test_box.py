"""Rebound captures kept in an object that the outer function and its helpers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemods.extract.conftest import Command
from tests.codemods.modes.conftest import Rewrite

KEPT = {
    "the helper writes": '''
def outer(k, n=3):
    """About outer."""
    total = 0
    def h(x):
        nonlocal total, n
        total += x
        n -= 1
        return [total for _ in range(n)]
    for i in range(k):
        h(i)
        total *= 2
    return total, n, h(1)
print(outer(3), outer.__doc__)
''',
    "the write stays when the helper raises": """
def outer():
    done = 0
    def h(x):
        nonlocal done
        done += 1
        return 1 / x
    try:
        h(1)
        h(0)
    except ZeroDivisionError:
        pass
    return done
print(outer())
""",
    "a sibling writes while the helper runs": """
def outer():
    n = 1
    def bump():
        nonlocal n
        n += 1
    def h(act):
        first = n
        act()
        return first, n
    return h(bump), h(lambda: bump()), n
print(outer())
""",
    "rebound while a generator is suspended": """
def outer():
    n = 1
    def h():
        yield n
        yield n
    g = h()
    first = next(g)
    n = 2
    return first, next(g)
print(outer())
""",
    "loop targets, with targets and unpacking": """
import contextlib
def outer(pairs):
    a = b = last = 0
    def h():
        nonlocal a
        a += 100
        return a, b, last
    seen = []
    for a, (b, *rest) in pairs:
        with contextlib.nullcontext(b) as last:
            seen.append(h())
    a, b = b, a
    return seen, h(), {a: b for a in (1, 2)}, [b for b in (3,)]
print(outer([(1, (2, 3)), (4, (5,))]))
""",
    "nested functions and lambdas": """
def outer():
    n = 0
    def deep():
        def deeper():
            nonlocal n
            n += 1
            return lambda: n
        return deeper
    def h():
        nonlocal n
        n *= 3
        return n
    f = deep()()
    return f(), h(), f(), n
print(outer())
""",
    "every parameter kind": """
def outer(a, /, b, *args, c=1, **kw):
    def h():
        nonlocal a, b, args, c, kw
        a, b, args, c, kw = b, a, args[::-1], c + 1, {**kw, 'new': c}
    h()
    h()
    return a, b, args, c, kw
print(outer(1, 2, 3, 4, z=5))
""",
    "other names of a nonlocal declaration stay": """
def outer():
    n = m = 0
    def g():
        nonlocal n, m
        n += 1
        m += 1
        return m
    def h():
        return n
    return g(), h(), m
print(outer())
""",
    "a declaration with a string after it": """
def outer():
    n = 0
    def h():
        nonlocal n
        'no docstring'
        n += 1
        return n
    return h()
print(outer())
""",
    "the names are taken": """
state = shared = dataclass = field = 'mine'
def outer():
    n = 0
    def h():
        nonlocal n
        n += 1
        return state, shared
    return h(), n, dataclass, field
print(outer())
""",
    "in a method": """
class C:
    def count(self, xs):
        n = 0
        def h(x):
            nonlocal n
            n += x
            self.n = n
        for x in xs:
            h(x)
        return n, self.n
print(C().count([1, 2]))
""",
}


@pytest.mark.parametrize("case", KEPT)
def test_the_program_prints_the_same(case: str, same: Rewrite, tmp_path: Path) -> None:
    ran = same(KEPT[case], "--helper", "h", "--box", "h")
    assert ran.helpers["h"]["status"] == "lifted"
    assert "(slots=True)" in (tmp_path / "program.py").read_text()


@pytest.mark.parametrize("case", KEPT)
def test_so_it_does_with_the_function_in_a_file_of_its_own(case: str, same: Rewrite, tmp_path: Path) -> None:
    same(KEPT[case], "--helper", "h", "--box", "h", "--to", str(tmp_path / "lifted.py"))
    assert "def h(" in (tmp_path / "lifted.py").read_text()


REFUSED = {
    "maybe unbound at a read in the outer function": (
        "maybe-unbound",
        """
def outer(flag):
    def h():
        nonlocal n
        n = 1
    if flag:
        h()
    try:
        return n
    except NameError:
        return 'unbound'
    n = 0
""",
    ),
    "maybe unbound at an augmented assignment": (
        "maybe-unbound",
        """
def outer():
    def h():
        nonlocal n
        n = 1
    h()
    n += 1
    return n
""",
    ),
    "read by a sibling before it is bound": (
        "maybe-unbound",
        """
def outer():
    def early():
        try:
            return n
        except NameError:
            return 'unbound'
    first = early()
    n = 0
    def h():
        nonlocal n
        n += 1
    h()
    return first, n
""",
    ),
    "deleted": (
        "maybe-unbound",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        n += 1
    h()
    del n
""",
    ),
    "deleted in the helper": (
        "maybe-unbound",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        del n
    h()
""",
    ),
    "bound by except as": (
        "layout",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        n = 1
    try:
        h()
    except ValueError as n:
        pass
""",
    ),
    "bound by an import": (
        "layout",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        import sys as n
        return n
    return h()
""",
    ),
    "bound by a pattern": (
        "layout",
        """
def outer(x):
    n = 0
    def h():
        nonlocal n
        n += 1
    match x:
        case [n]:
            h()
    return n
""",
    ),
    "annotated": (
        "layout",
        """
def outer():
    n: int = 0
    def h():
        nonlocal n
        n += 1
    h()
    return n
""",
    ),
    "used in a class body": (
        "layout",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        n += 1
    h()
    class K:
        k = n
    return K.k
""",
    ),
    "an f-string prints its name": (
        "layout",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        n += 1
    h()
    return f"{n=}"
""",
    ),
    "variables by name": (
        "dynamic-names",
        """
def outer():
    n = 0
    def h():
        nonlocal n
        n += 1
    h()
    return locals()
""",
    ),
    "a value": (
        "value-use",
        """
def outer():
    n = 0
    def h(k):
        nonlocal n
        n += k
    list(map(h, [1, 2]))
    return n
""",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_box_would_change_is_refused(case: str, refused: Callable[..., str]) -> None:
    code, program = REFUSED[case]
    assert refused(program, "--helper", "h", "--box", "h") == code


def test_without_being_asked_for_there_is_none(refused: Callable[..., str]) -> None:
    program = KEPT["the write stays when the helper raises"]
    assert refused(program, "--helper", "h") == "nonlocal-write"


def test_a_box_and_a_residual_for_a_helper_that_is_a_value(same: Rewrite, tmp_path: Path) -> None:
    same(REFUSED["a value"][1] + "print(outer())\n", "--box", "h", "--wrapper", "h")
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
        *("--box", "h", "--box", "g"),
    )
    text = (tmp_path / "program.py").read_text()
    assert ("pass" in text) == ("# shared" in body)
    assert ("# shared" in text) == ("# shared" in body)


def test_a_name_that_no_helper_has_is_an_error(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(KEPT["in a method"])
    ran = extract(path, "--box", "g")
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
        '[[move]]\nto = "a.py"\nnames = ["h"]\nbox = ["h"]\n'
    )
    before = execute(tmp_path, "program.py")
    ran = extract("--plan", plan, "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "program.py") == before
    (tmp_path / "program.py").write_text(program)
    plan.write_text(plan.read_text().replace('box = ["h"]', 'box = ["k"]'))
    assert "plan.toml:7: box names k" in extract("--plan", plan).err
