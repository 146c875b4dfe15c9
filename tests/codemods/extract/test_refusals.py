"""Refusals, and what is let through, of which no rule's own example and no program of the corpus tells.

These are decided only; what is let through is executed by the corpus.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.codemods.conftest import Command

HELPER = """
def outer(n):
    def h(x):
        return x + n
    return h(1)
"""
MAKER = """
def outer(n):
    def h(x):
        def made():
            return x + n
        return made
    return h(1)
"""
SHARED = """
def outer(flag):
    {before}
    def h():
        nonlocal n
        n += 1
    h()
    return n
"""


class Case(NamedTuple):
    """A program, how its helpers are lifted, the code that ``h`` is refused with (none: lifted), and why."""

    text: str
    code: str | None
    reason: str = ""
    arguments: tuple[str, ...] = ()


TO = ("--to", "moved.py")
RESIDUAL = ("--wrapper", "h")
BOX = ("--cell", "h")
CASES = {
    # What looks at frames, code and source text
    "a frame by an imported function": Case(
        "from sys import _getframe\nlook = _getframe(0).f_locals\n" + HELPER,
        "introspection",
        "f_locals",
    ),
    "what reads closures, imported": Case(
        "from inspect import getclosurevars\ndef look(f):\n    return getclosurevars(f)\nkept = [look]\n"
        + MAKER.replace("return h(1)", "kept.append(outer)\n    return h(1)"),
        "introspection",
        "inspect.getclosurevars",
    ),
    # Annotations that are evaluated
    "imported classes in brackets": Case(
        "from decimal import Decimal\nfrom typing import Callable, Type, TypeVar, Union\nT = TypeVar('T')\n"
        + HELPER.replace("h(x)", "h(x: Union[Decimal, list[Decimal], Callable[[Type[T]], T]]) -> T"),
        None,
    ),
    "an imported class, of which more is asked": Case(
        "from decimal import Decimal\n" + HELPER.replace("h(x)", "h(x: Decimal | None)"),
        "annotations-evaluated",
    ),
    "what a star import may bring": Case(
        "from math import *\n" + HELPER.replace("return x", "return floor(x)"),
        "unbound-reads",
        "the global floor may be unbound where it is passed",
        TO,
    ),
    # Names by which variables are seen
    "locals under another name": Case(
        "from builtins import locals as seen\n" + HELPER, "dynamic-names", "builtins.locals"
    ),
    "a function of that name of its own": Case("def vars(x):\n    return x\n" + HELPER, None),
    "modules that are gone through": Case(
        "import sys\nkept = [*sys.modules.values()]\n" + HELPER, "dynamic-names", "sys.modules"
    ),
    "modules that are compared": Case("import sys\nsame = 'os' in sys.modules\n" + HELPER, None),
    # Compilers, writes, positions
    "handed to a compiler": Case(
        "import numba\n" + HELPER + "fast = numba.njit(outer)\n", "introspection", "numba.njit compiles it"
    ),
    "a walrus of a generator inside": Case(
        "def outer(rows):\n    n = 1\n    def h(x):\n        return x + n\n"
        "    late = (n := row for row in rows)\n    return list(late), h(1)\n",
        "nonlocal-write",
        "another function than the one",
    ),
    "behind a backslash": Case(
        "def outer(n):\n    if n: \\\n        pass\n    x = 1; \\\n    y = 2\n    def h(x):\n"
        "        return x + n\n    return h(1)\n",
        None,
    ),
    "a decorator that nobody imports": Case(
        "def outer(n):\n    def quiet(f):\n        return f\n    @quiet\n    def h(x):\n"
        "        return x + n\n    return h(1)\n",
        "decorated",
    ),
    # Annotations that are evaluated
    "a class that nobody can join": Case(
        "class Meta(type):\n    pass\nclass C(metaclass=Meta):\n    pass\n"
        "def outer(n):\n    def h(x: int | C):\n        return n\n    return h(1)\n",
        "annotations-evaluated",
    ),
    "an annotation that calls": Case(
        "def kind():\n    return int\ndef outer(n):\n    def h(x: kind()):\n        return n\n"
        "    return h(1)\n",
        "annotations-evaluated",
    ),
    # Files of their own
    "a global that a function of the file declares": Case(
        "limit = 1\ndef outer(n):\n    def h(x):\n        class C:\n            limit = limit\n"
        "        return C.limit + n\n    return h(1)\n",
        "module-identity",
        "reads limit",
        TO,
    ),
    "a main block that calls it": Case(
        "def outer(n):\n    def h(x):\n        return x + n + late\n    return h(1)\nlate = 3\n"
        "if __name__ == '__main__':\n    outer(1)\n",
        None,
        "",
        TO,
    ),
    # Objects that functions share
    "a boxed variable that is annotated": Case(SHARED.format(before="n: int\n    n = 0"), None, "", BOX),
    "no line of its own for the object": Case(
        SHARED.format(before="n = 0; n = flag"), "not-proven", "state is not made where it should be", BOX
    ),
    "a declaration that shares its line": Case(
        SHARED.format(before="n = 0").replace("nonlocal n\n", "nonlocal n; k = 1\n"), None, "", BOX
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_helpers_are_refused_or_lifted(
    name: str, tmp_path: Path, extract: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(case.text)
    ran = extract("program.py", "--output-format", "json", *case.arguments)
    helper = ran.helpers["h"]
    assert helper["code"] == case.code
    assert case.reason in (helper["reason"] or "")
