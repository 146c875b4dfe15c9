"""Imports that only moved code needed go; those that something else needs stay, and the report says why."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute

TAIL = """
def outer(n):
    def h(x):
        return math.floor(x) + n
    return h(1.5)
"""
MATH = "import math\n" + TAIL
LOUD = "print('{} loads')\n"


@dataclass(frozen=True)
class Case:
    """A module of which `outer.h` moves to another, files around it, which imports go and which stay."""

    text: str
    gone: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    unmarked: bool = False


CASES = {
    "only moved code uses it": Case(MATH, gone=("math",)),
    "one name of several": Case(
        "from math import (\n    floor,\n    pi,  # the ratio\n)\n"
        "def outer(n):\n    def h(x):\n        return floor(x) + n\n    return h(1.5) + pi\n",
        gone=("floor",),
    ),
    "a name of a block for type checkers": Case(
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from fractions import Fraction\n"
        "def outer(n):\n    def h(x: Fraction):\n        return x + n\n    return h(1.5)\n",
        gone=("Fraction", "TYPE_CHECKING"),
    ),
    "what is left uses it": Case(MATH + "print(math.pi)\n", kept=("math",), unmarked=True),
    "another file imports it": Case(
        MATH, kept=("math",), files={"other.py": "from train import math\n"}, reason="other.py"
    ),
    "another file reads it as an attribute": Case(
        MATH, kept=("math",), files={"other.py": "import train as t\nt.math.pi\n"}, reason="other.py"
    ),
    "a test replaces it by a string": Case(
        MATH,
        kept=("math",),
        files={"tests/test_it.py": "from unittest import mock\nmock.patch('train.math')\n"},
    ),
    "another file imports everything": Case(
        MATH, kept=("math",), files={"other.py": "from train import *\n"}, reason="everything"
    ),
    "another program's text imports everything": Case(
        MATH, kept=("math",), files={"other.py": "exec('from train import *')\n"}, reason="everything"
    ),
    "an __all__ that has it": Case(
        "import math\n__all__ = ['math', 'outer']\n" + TAIL, kept=("math",), reason="text"
    ),
    "a string annotation": Case(
        "from math import floor\nfrom fractions import Fraction\n"
        "def outer(n):\n    def h(x):\n        return floor(Fraction(x)) + n\n    return h(1.5)\n"
        "def other(x: 'list[Fraction]'): pass\n",
        gone=("floor",),
        kept=("Fraction",),
        unmarked=True,
    ),
    "a type in quotes that a cast is given": Case(
        "import typing as t\nfrom fractions import Fraction\n"
        "def outer(n):\n    def h(x):\n        return n + Fraction(x)\n"
        "    return t.cast('list[Fraction]', h(1))\n",
        kept=("Fraction",),
        unmarked=True,
    ),
    "a doctest": Case(
        MATH + 'def other():\n    """\n    >>> math.floor(1.5)\n    1\n    """\n',
        kept=("math",),
        reason="text",
    ),
    "a module __getattr__ that reads its own names": Case(
        MATH + "def __getattr__(name):\n    return globals()[name.lower()]\n",
        kept=("math",),
        unmarked=True,
    ),
    "eval": Case(
        MATH + "def other(text):\n    return eval(text)\n", kept=("math",), reason="eval", unmarked=True
    ),
    "marked": Case("import math  # noqa: F401\n" + TAIL, kept=("math",), reason="marked"),
    "an import that may fail": Case(
        "try:\n    import math\nexcept ImportError:\n    math = None\n" + TAIL, kept=("math",), unmarked=True
    ),
    "a package's own file": Case(MATH, kept=("math",), reason="package"),
    "its module does something, still and in order": Case(
        "import loud\ndef outer(n):\n    def h(x):\n        return loud.f(x) + n\n    return h(1.5)\n",
        gone=("loud",),
        files={"loud.py": LOUD.format("loud") + "f = int\n"},
    ),
    "its module does something before another does": Case(
        "import loud\nimport louder\ndef outer(n):\n    def h(x):\n        return loud.f(x) + n\n"
        "    return h(1.5) + louder.g\n",
        kept=("loud",),
        files={"loud.py": LOUD.format("loud") + "f = int\n", "louder.py": LOUD.format("louder") + "g = 1\n"},
        reason="another order",
    ),
    "another distribution's module, before another's": Case(
        "import iniconfig\nimport pluggy\ndef outer(n):\n    def h(x):\n"
        "        return iniconfig.IniConfig, n\n"
        "    return h('a'), pluggy.__version__\n",
        kept=("iniconfig",),
        reason="another order",
    ),
    "a module that imports this one while it loads": Case(
        "import back\n" + MATH + "print(back.g)\n",
        kept=("math",),
        files={"back.py": "import train\ng = 1\n"},
        reason="imports this file back",
    ),
}


def bound(text: str) -> set[str]:
    """Names that a module's imports bind."""
    return {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


@pytest.mark.parametrize("name", CASES)
def test_an_import_goes_only_if_nothing_needs_it(
    name: str, tmp_path: Path, extract: Command, execute: Execute
) -> None:
    case = CASES[name]
    (tmp_path / "pyproject.toml").write_text("")
    package = "package" in name
    train = tmp_path / ("train/__init__.py" if package else "train.py")
    for path, text in {**case.files, train.relative_to(tmp_path).as_posix(): case.text}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    run = ("-c", "import train; print(train.outer(2))")
    before = execute(tmp_path, *run)
    to = train.with_name("parts.py")
    ran = extract(train, "--function", "outer", "--to", to, "--write", "--output-format", "json")
    after = train.read_text()
    assert ran.code == 0 or case.text == after, ran.out
    assert execute(tmp_path, *run) == before
    assert not bound(after) & set(case.gone), after
    assert bound(after) >= set(case.kept), after
    said = {entry["name"]: entry["reason"] for entry in ran.json["imports"]}
    if case.reason:
        assert {*case.kept} <= said.keys()
        assert all(case.reason in said[kept] for kept in case.kept), said
        marked = [line for line in after.splitlines() if "noqa: F401" in line]
        assert bool(marked) is not case.unmarked or "package" in name or "beside" in name, after
    else:
        assert not said.keys() & set(case.gone)


def test_what_a_cast_names_in_quotes_is_imported_where_it_goes(tmp_path: Path, extract: Command) -> None:
    train, to = tmp_path / "train.py", tmp_path / "parts.py"
    train.write_text(
        "import typing\nimport decimal\nfrom fractions import Fraction\nclass Own: pass\n"
        "def outer(n):\n    def h(x):\n        x = typing.cast('Fraction | Own', x)\n"
        "        return typing.cast('decimal.Decimal', x) + n\n    return h(1)\n"
    )
    assert extract(train, "--to", to, "--write").code == 0
    assert bound(train.read_text()) == {"_h"}
    assert bound(to.read_text()) == {"TYPE_CHECKING", "typing", "decimal", "Fraction", "Own"}


def test_imports_go_though_another_helper_stays(tmp_path: Path, extract: Command) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    more = "    m = 0\n    def k():\n        nonlocal m\n        m = 2\n    k()\n    return h(1.5)"
    text = MATH.replace("    return h(1.5)", more)
    (tmp_path / "train.py").write_text(text)
    ran = extract(tmp_path / "train.py", "--to", tmp_path / "parts.py", "--write")
    assert "nonlocal-write" in ran.out
    assert bound((tmp_path / "train.py").read_text()) == {"_h"}
