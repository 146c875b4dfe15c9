"""Changes by what stands around a text that stays: what loads it, reads it or replaces it."""

from collections.abc import Callable

import pytest

from tests.codemods.review.conftest import Files, Reviewed

STORED = "R = {}\ndef put(f):\n    R[f.__name__] = f\n    return f\n"
HOOKED = "R = []\nclass Base:\n    def __init_subclass__(cls): R.append(cls)\n"
DISPATCHED = "from functools import singledispatch\n@singledispatch\ndef f(x): return 0\n"
SETTINGS = {"store.py": "v = 1\n", "a.py": "import store\nstore.v = 2\n"}
PARSER = "import argparse\nparser = argparse.ArgumentParser(description=__doc__)\n"
HINTS = """
import typing
def coerce(g):
    hints = typing.get_type_hints(g)
    return lambda x: g(hints["x"](x))
"""
K_MOVED = ("K = 1\ndef f(): return K\n", "from b import f, K\n")


def replaced(text: str) -> tuple[Files, Files]:
    """A function and what it calls leave a file, in which another file replaces a name."""
    return (
        {"p.py": text, "a.py": "def g(): return 1\ndef f(): return g()\n"},
        {
            "p.py": text,
            "a.py": "from b import f, g\n",
            "b.py": "def g(): return 1\ndef f(): return g()\n",
        },
    )


def rebound(text: str) -> tuple[Files, Files]:
    """A variable and who reads it leave a file that binds it again."""
    return {"a.py": K_MOVED[0] + text}, {"a.py": K_MOVED[1] + text, "b.py": K_MOVED[0]}


def moved(head: str, text: str) -> tuple[Files, Files]:
    """A text that leaves a file for a new one."""
    return {"a.py": head + "K = 1\n" + text}, {"a.py": "from b import calc\nK = 1\n", "b.py": head + text}


CASES: dict[str, tuple[Files, Files]] = {
    "a function that is registered, in a file that nothing loads": (
        {"a.py": STORED + "@put\ndef f(): return 1\n"},
        {"a.py": STORED, "b.py": "from a import put\n@put\ndef f(): return 1\n"},
    ),
    "a function that is registered elsewhere, in a file that nothing loads": (
        {"r.py": STORED, "a.py": "from r import put\nx = 1\n@put\ndef f(): return 1\n"},
        {"r.py": STORED, "a.py": "x = 1\n", "b.py": "from r import put\n@put\ndef f(): return 1\n"},
    ),
    "a class whose base keeps it, in a file that nothing loads": (
        {"a.py": HOOKED + "class X(Base):\n    v = 1\n"},
        {"a.py": HOOKED, "b.py": "from a import Base\nclass X(Base):\n    v = 1\n"},
    ),
    "a value whose making does something, in a file that nothing loads": (
        {"a.py": "R = []\ndef f(x):\n    R.append(x)\n    return x\nV = f(1)\n"},
        {"a.py": "R = []\ndef f(x):\n    R.append(x)\n    return x\n", "b.py": "from a import f\nV = f(1)\n"},
    ),
    "a function for one type, in a file that nothing loads": (
        {"a.py": DISPATCHED + "@f.register(int)\ndef g(x): return 1\n"},
        {"a.py": DISPATCHED, "b.py": "from a import f\n@f.register(int)\ndef g(x): return 1\n"},
    ),
    "a docstring that the module reads": (
        {"a.py": '"""Trains."""\n' + PARSER},
        {"a.py": '"""Evaluates."""\n' + PARSER},
    ),
    "a docstring that a function of the module reads": (
        {"a.py": '"""Trains."""\ndef f(): return __doc__\n'},
        {"a.py": "def f(): return __doc__\n"},
    ),
    "eval by its name as a text": moved(
        "import builtins\n", "def calc(t): return getattr(builtins, 'eval')(t)\n"
    ),
    "eval of the module of builtins as it was loaded": moved(
        "import sys\n", "def calc(t): return sys.modules['builtins'].eval(t)\n"
    ),
    "eval of the names of builtins": moved(
        "import builtins\n", "def calc(t): return vars(builtins)['eval'](t)\n"
    ),
    "eval of a module that is imported by its name": moved(
        "import importlib\n", "def calc(t): return importlib.import_module('builtins').eval(t)\n"
    ),
    "a module that is renamed, whose function is another one": (
        {"a.py": "import m\ndef g(): return m.f()\n", "m.py": "def f(): return 1\n"},
        {"a.py": "import n\ndef g(): return n.f()\n", "n.py": "def f(): return 2\n"},
    ),
    "a module that is renamed, handed on": (
        {"a.py": "import m\ndef g(): return vars(m), m.f()\n", "m.py": "def f(): return 1\n"},
        {"a.py": "import n\ndef g(): return vars(n), n.f()\n", "n.py": "def f(): return 1\n"},
    ),
    "a module that is another one, of which a name is read that other files replace": (
        {
            "a.py": "import m\ndef g(): return m.f()\n",
            "m.py": "def f(): return 1\n",
            "t.py": "import m\nm.f = None\n",
        },
        {
            "a.py": "import n\ndef g(): return n.f()\n",
            "m.py": "from n import f\n",
            "n.py": "def f(): return 1\n",
            "t.py": "import m\nm.f = None\n",
        },
    ),
    "a module that may be missing, and is one of the tree": (
        {
            "p/q.py": "x = 1\n",
            "p/a.py": "try:\n    from .q import x\nexcept ImportError:\n    x = 0\ndef f(): return x\n",
        },
        {
            "p/q.py": "x = 1\n",
            "p/a.py": "",
            "s/q.py": "x = 2\n",
            "s/a.py": "try:\n    from .q import x\nexcept ImportError:\n    x = 0\ndef f(): return x\n",
        },
    ),
    "a file that hides a module of the standard library from scripts": (
        {"a.py": "import queue\ndef f(): return queue.Queue()\n", "b.py": "x = 1\n"},
        {"a.py": "import queue\ndef f(): return queue.Queue()\n", "queue.py": "x = 1\n"},
    ),
    "a replacement by the update of a namespace": replaced("import a\na.__dict__.update(g=None)\n"),
    "a replacement by a loop over modules": replaced("import a\nfor m in (a,): m.g = None\n"),
    "a replacement by patch.multiple and a text": replaced(
        "from unittest import mock\nmock.patch.multiple('a', g=None).start()\n"
    ),
    "a replacement by patch.dict": replaced(
        "import a\nfrom unittest import mock\nmock.patch.dict(a.__dict__, g=None).start()\n"
    ),
    "a replacement by exec": replaced("import a\nexec('def g(): return 2', a.__dict__)\n"),
    "a replacement by a function's module": replaced("import a\na.f.__globals__['g'] = None\n"),
    "a replacement by a loop": replaced("import a\nfor a.g in (None,): pass\n"),
    "a replacement by a context": replaced(
        "import a, contextlib\nwith contextlib.nullcontext(2) as a.g: pass\n"
    ),
    "a replacement by del": replaced("import a\ndef go(): del a.g\n"),
    "a replacement by __setattr__": replaced("import a\na.__setattr__('g', None)\n"),
    "a name that is bound by globals()": rebound("def go(): globals()['K'] = 2\n"),
    "names that are bound by globals()": rebound("def go(d): globals().update(d)\n"),
    "a name that is bound by the module itself": rebound(
        "import sys\ndef go(): sys.modules[__name__].K = 2\n"
    ),
    "names that are set by the module itself": rebound(
        "import sys\ndef go(n, v): setattr(sys.modules[__name__], n, v)\n"
    ),
    "names that exec binds": rebound("def go(t): exec(t, globals())\n"),
    "names that exec binds in the module": rebound("exec('K = 2')\n"),
    "an annotation that a decorator reads": (
        {"a.py": HINTS + "@coerce\ndef f(x: int): return x\n"},
        {"a.py": HINTS + "@coerce\ndef f(x: float): return x\n"},
    ),
    "an annotation that chooses a function": (
        {"a.py": DISPATCHED + "@f.register\ndef g(x: int): return 1\n"},
        {"a.py": DISPATCHED + "@f.register\ndef g(x: str): return 1\n"},
    ),
    "an annotation that chooses a function by a name": (
        {"a.py": "T = int\n" + DISPATCHED + "@f.register\ndef g(x: T): return 1\n"},
        {
            "a.py": "from b import T\n" + DISPATCHED + "@f.register\ndef g(x: T): return 1\n",
            "b.py": "T = str\n",
        },
    ),
    "an annotation that a decorator of another project may read": (
        {"a.py": "import typer\napp = typer.Typer()\n@app.command()\ndef f(x: int): print(x)\n"},
        {"a.py": "import typer\napp = typer.Typer()\n@app.command()\ndef f(x: float): print(x)\n"},
    ),
    "the annotation of the second of two functions of one name, which a decorator reads": (
        {
            "a.py": DISPATCHED
            + "@f.register\ndef _(x: int): return 1\n@f.register\ndef _(x: bool): return 2\n"
        },
        {"a.py": DISPATCHED + "@f.register\ndef _(x: int): return 1\n@f.register\ndef _(x: str): return 2\n"},
    ),
    "the annotation of a function inside of another one, which a decorator reads": (
        {"a.py": DISPATCHED + "def more():\n    @f.register\n    def g(x: int): return 1\n"},
        {"a.py": DISPATCHED + "def more():\n    @f.register\n    def g(x: str): return 1\n"},
    ),
    "a module that reads what another one sets, imported before it": (
        SETTINGS | {"b.py": "import store\nv = store.v\n", "m.py": "import a\nimport b\n"},
        SETTINGS | {"b.py": "import store\nv = store.v\n", "m.py": "import b\nimport a\n"},
    ),
    "a module that imports by name what another one sets, imported before it": (
        SETTINGS | {"b.py": "from store import v\n", "m.py": "import a\nimport b\n"},
        SETTINGS | {"b.py": "from store import v\n", "m.py": "import b\nimport a\n"},
    ),
    "an annotation that does something": (
        {"a.py": "R = []\ndef t(n): R.append(n)\ndef f(x: t(1)): return x\n"},
        {"a.py": "R = []\ndef t(n): R.append(n)\ndef f(x): return x\n"},
    ),
    "a module that is looked for before it is said where": (
        {"a.py": "import sys\nsys.path.insert(0, 'lib')\nfrom m import t\n", "lib/m.py": "t = 1\n"},
        {"a.py": "import sys\nfrom m import t\nsys.path.insert(0, 'lib')\n", "lib/m.py": "t = 1\n"},
    ),
    "a script with a relative import": (
        {"a.py": "from m import t\n", "m.py": "t = 1\n"},
        {"a.py": "from .m import t\n", "m.py": "t = 1\n"},
    ),
    "a module of a package that is imported as if that were none": (
        {"p/__init__.py": "", "p/m.py": "t = []\n", "p/a.py": "from p.m import t\n"},
        {"p/__init__.py": "", "p/m.py": "t = []\n", "p/a.py": "from m import t\n"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_something_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 1, reviewed.document
