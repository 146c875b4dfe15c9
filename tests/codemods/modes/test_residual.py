"""A residual keeps what a value shows: identity, name, signature, kind, late binding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.program.lifting import Analysis
from codemods.program.source import parse_source
from tests.codemods.extract.conftest import Command
from tests.codemods.modes.conftest import Rewrite

KEPT = {
    "late binding": """
def outer():
    n = 1
    def h():
        return n
    first = h
    n = 2
    return first()
print(outer())
""",
    "one loop variable for all": """
def outer():
    made = []
    for i in range(3):
        def h():
            return i
        made.append(h)
    return [h() for h in made]
print(outer())
""",
    "a capture that is bound after the value is taken": """
def outer():
    def h():
        return n
    f = h
    n = 3
    return f()
print(outer())
""",
    "a capture that is never bound": """
def outer(flag):
    if flag:
        n = 1
    def h():
        return n
    return h
try:
    outer(False)()
except NameError as error:
    print(error, outer(True)())
""",
    "identity for every call of the outer function": """
def outer(n):
    def h(x):
        return x + n
    return h
a, b = outer(1), outer(2)
print(a is b, a == a, len({a, b, a}), a(1), b(1))
""",
    "name, signature, defaults, annotations and docstring": '''
import inspect
def outer(n, names):
    def h(a, /, b: int, *rest: str, k: "x" = n, **kw) -> list:
        """What it does.

          More.
        """
        names.append((a, b, rest, k, sorted(kw.items()), n))
        return names
    return h
h = outer(7, [])
print(h.__name__, h.__qualname__, inspect.signature(h), h.__doc__, h.__kwdefaults__, h.__annotations__)
print(h(1, 2), h(1, 2, "x", "y", k=0, n=5, names=6), h(1, b=2, kw=8))
for bad in ((), (1, 2, 3)):
    try:
        h(*bad, **{"a": 1})
    except TypeError as error:
        print(error)
    else:
        print("taken")
''',
    "defaults are made at every definition": """
def outer(n):
    made = []
    for i in range(2):
        def h(x, acc=[], i=i):
            acc.append((x, i, n))
            return acc
        h(1)
        made.append(h(2))
    return made
print(outer(5), outer(6))
""",
    "decorators": """
import functools
def outer(n):
    @functools.lru_cache(maxsize=None)
    def h(x):
        print("computing", x)
        return x + n
    return h(1) + h(1) + h(2), h.cache_info().hits
print(outer(1), outer(2))
""",
    "attributes as state": """
def outer(n):
    def h():
        return n
    h.calls = 1
    h.calls += 1
    return h.calls, h()
print(outer(3), outer(4))
""",
    "a method of a class made inside": """
def outer(n):
    def h(self, x):
        return self.k + x + n
    class C:
        k = 10
        m = h
    return C().m(1), C.m is h
print(outer(100))
""",
    "used as a decorator": """
def outer(tag):
    def h(f):
        print("decorating", f.__name__, tag)
        return f
    @h
    def g():
        return "g"
    return g()
print(outer("t"))
""",
    "wrapped under its own name": """
def outer(n):
    def h(x):
        return x + n
    plain = h
    h = lambda x: plain(x) * 2
    return h(1)
print(outer(5))
""",
    "defined in two branches": """
def outer(n, up):
    if up:
        def h(x):
            return x + n
    else:
        h = abs
    return list(map(h, [-1, 2]))
print(outer(1, True), outer(1, False))
""",
    "used before it is defined": """
def outer(n):
    try:
        print(h)
    except UnboundLocalError as error:
        print(error)
    def h(x):
        return x + n
    return list(map(h, [1]))
print(outer(2))
""",
    "deleted": """
def outer(n):
    def h(x):
        return x + n
    f = h
    del h
    try:
        h(1)
    except UnboundLocalError as error:
        print(error)
    return f(1)
print(outer(2))
""",
    "a generator function": """
import inspect
def outer(n):
    def h(k):
        got = yield n + k
        while got is not None:
            try:
                got = yield got * n
            except ValueError as error:
                got = yield str(error)
        return "end"
    return h
h = outer(3)
print(inspect.isgeneratorfunction(h))
g = h(1)
print(next(g), g.send(5), g.throw(ValueError("thrown")))
try:
    g.send(None)
except StopIteration as stop:
    print(stop.value)
g = h(1)
next(g)
g.close()
print(list(h(1)))
""",
    "a coroutine function": """
import asyncio, inspect
def outer(n):
    async def h(k):
        await asyncio.sleep(0)
        return n + k
    return h
h = outer(3)
print(inspect.iscoroutinefunction(h), asyncio.run(h(1)))
""",
    "one line": """
def outer(n):
    def h(x): return x + n
    return list(map(h, [1, 2]))
print(outer(1))
""",
    "tabs, comments and a header of many lines": """
def outer(n):
\t# above
\tdef h(
\t\tx,  # the value
\t\ty=(1, 2),
\t):  # after
\t\t# inside
\t\treturn x, y, n
\t\t# trailing
\treturn list(map(h, [1]))
print(outer(1))
""",
    "in a method": """
class C:
    k = 2
    def scaled(self, values):
        def h(x):
            return x * self.k
        return list(map(h, values))
print(C().scaled([1, 2]))
""",
    "names already taken": """
_h = 'mine'
def outer(n):
    def h(x):
        return x + n
    return list(map(h, [1])), _h
print(outer(1))
""",
    "a helper that it calls": """
def outer(n):
    def g(x):
        return x * n
    def h(x):
        return g(x) + 1
    return list(map(h, [1, 2])), g(3)
print(outer(4))
""",
}


@pytest.mark.parametrize("case", KEPT)
def test_the_program_prints_the_same(case: str, same: Rewrite) -> None:
    ran = same(KEPT[case], "--helper", "h", "--wrapper", "h")
    assert ran.helpers["h"]["status"] == "lifted"


@pytest.mark.parametrize("case", KEPT)
def test_so_it_does_with_the_function_in_a_file_of_its_own(case: str, same: Rewrite, tmp_path: Path) -> None:
    ran = same(KEPT[case], "--helper", "h", "--wrapper", "h", "--to", str(tmp_path / "lifted.py"))
    assert ran.helpers["h"]["target"] == "lifted.py"
    assert "def h(" in (tmp_path / "lifted.py").read_text()


REFUSED = {
    "rebound while the helper may run": (
        "capture-rebound",
        """
def outer(act):
    n = 1
    def h():
        act()
        return n
    f = h
    n = 2
    return f()
""",
    ),
    "a generator that reads it later": (
        "capture-rebound",
        """
def outer():
    n = 1
    def h():
        yield 0
        yield n
    g = list(map(h, []))
    n = 2
    return g, h
""",
    ),
    "an inner function that reads it later": (
        "capture-rebound",
        """
def outer():
    n = 1
    def h():
        return lambda: n
    f = h
    n = 2
    return f()()
""",
    ),
    "unbound, and handled inside": (
        "maybe-unbound",
        """
def outer(flag):
    if flag:
        n = 1
    def h():
        try:
            return n
        except NameError:
            return 'unbound'
    return h
""",
    ),
    "unbound after a handler, and handled inside": (
        "capture-rebound",
        """
def outer():
    made = []
    try:
        1 / 0
    except ZeroDivisionError as e:
        def h():
            try:
                return str(e)
            except NameError:
                return 'unbound'
        made.append(h)
    return made[0]()
""",
    ),
    "deleted, and read after a global": (
        "capture-rebound",
        """
def outer():
    n = 1
    def h():
        return missing(n)
    f = h
    del n
    return f()
""",
    ),
    "unbound where it may not be read": (
        "maybe-unbound",
        """
def outer(flag):
    if flag:
        n = 1
    def h(x):
        return x and n
    return h
""",
    ),
    "nonlocal": (
        "nonlocal-write",
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
    "recursion": (
        "introspection",
        """
def outer(n):
    def h(x):
        return 0 if x < n else 1 + h(x - 1)
    return list(map(h, [3]))
""",
    ),
    "recursion through another": (
        "introspection",
        """
def outer(n):
    def g(x):
        return h(x - 1)
    def h(x):
        return 0 if x < n else 1 + g(x)
    return list(map(h, [3]))
""",
    ),
    "a stack level": (
        "introspection",
        """
import logging
def outer(n):
    def h(x):
        logging.info('%s', n, stacklevel=2)
        return x
    return list(map(h, [3]))
""",
    ),
    "its traceback is taken apart": (
        "introspection",
        """
import traceback
def outer(n):
    def h(x):
        return 1 / n
    try:
        return list(map(h, [3]))
    except ZeroDivisionError as error:
        return len(traceback.extract_tb(error.__traceback__))
""",
    ),
    "its code is asked for": (
        "introspection",
        """
def outer(n):
    def h(x):
        return x + n
    return h.__code__.co_freevars
""",
    ),
    "its source is asked for": (
        "introspection",
        """
import inspect
def outer(n):
    def h(x):
        return x + n
    return inspect.getsource(h)
""",
    ),
    "a compiler": (
        "introspection",
        """
import torch
def outer(n):
    @torch.jit.script
    def h(x):
        return x + 1
    return h
""",
    ),
    "pickled": (
        "introspection",
        """
import pickle
def outer(n):
    def h(x):
        return x + n
    return pickle.dumps((h, 1))
""",
    ),
    "variables by name": (
        "dynamic-names",
        """
def outer(n):
    def h(x):
        return x + n
    return h, locals()
""",
    ),
    "super": (
        "class-cell",
        """
class A:
    def f(self):
        def h():
            return super().__init__
        return h
""",
    ),
    "an asynchronous generator": (
        "not-understood",
        """
def outer(n):
    async def h():
        yield n
    return h
""",
    ),
    "a parameter is freed": (
        "lifetimes",
        """
def outer(n):
    def h(x):
        y = x + n
        del x
        return y
    return h
""",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_residual_would_change_is_refused(case: str, refused: Callable[..., str]) -> None:
    code, program = REFUSED[case]
    assert refused(program, "--helper", "h", "--wrapper", "h") == code


def test_refusals_name_lines_of_the_file_as_it_is(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(REFUSED["rebound while the helper may run"][1])
    ran = extract(path, "--wrapper", "h", "--output-format", "json")
    assert ran.helpers["h"]["reason"].startswith("line 8: n may be rebound here, after line 7")


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
residual = ["h"]
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
    plan.write_text(PLAN.format(new="shifted").replace('residual = ["h"]', 'residual = ["k"]'))
    ran = extract("--plan", plan)
    assert ran.code == 2
    assert f"{plan}:9: residual names k, which is no helper among the names moved" in ran.err
