"""Local variables under other names, and names of modules that are read as `module.name`."""

from collections.abc import Callable

import pytest

from tests.codemods.review.conftest import Files, Reviewed

CONFIG = {"config.py": "LR = 1\ndef put(value):\n    global LR\n    LR = value\n"}
PLAIN = {"config.py": "LR = 1\n"}
NAMED = "import config\nfrom config import LR\ndef f(): return LR + 1\n"
READ = "import config\nfrom config import LR\ndef f(): return config.LR + 1\n"
LOG = "def report(epoch, loss): print(epoch, loss)\n"
PATCHED = "import random\nfrom random import random as draw\ndef f(): return draw()\n"
FIT = "def fit(rows):\n    total = 0\n    for row in rows:\n        total += row\n    return total\n"


def inside(*lines: str) -> Files:
    return {"a.py": "".join(f"    {line}\n" if index else f"{line}\n" for index, line in enumerate(lines))}


SAME: dict[str, tuple[Files, Files]] = {
    "constants that move, read from their module": (
        {"a.py": "LR = 1\ndef f(): return LR + 1\n"},
        {"a.py": "import config\ndef f(): return config.LR + 1\n", "config.py": "LR = 1\n"},
    ),
    "an imported name that is read from its module": (PLAIN | {"a.py": NAMED}, PLAIN | {"a.py": READ}),
    "a name that is read from its module, imported": (PLAIN | {"a.py": READ}, PLAIN | {"a.py": NAMED}),
    "a function that moves, called as its module's": (
        {"a.py": LOG + "def f(): report(1, 2)\n"},
        {"a.py": "import log\ndef f(): log.report(1, 2)\n", "log.py": LOG},
    ),
    "a function of a submodule that is loaded": (
        {"p/__init__.py": "", "p/q.py": LOG, "a.py": "from p.q import report\ndef f(): report(1, 2)\n"},
        {"p/__init__.py": "", "p/q.py": LOG, "a.py": "import p.q\ndef f(): p.q.report(1, 2)\n"},
    ),
    "a class of another project": (
        {"a.py": "from torch.utils.data import DataLoader\ndef f(x): return DataLoader(x)\n"},
        {"a.py": "from torch.utils import data\ndef f(x): return data.DataLoader(x)\n"},
    ),
    "local variables": (
        {"a.py": FIT},
        {"a.py": FIT.replace("total", "summed").replace("row ", "line ").replace("+= row", "+= line")},
    ),
    "a variable of a comprehension, and one that it reads": (
        inside("def f(rows):", "k = 2", "return [k * row for row in rows]"),
        inside("def f(rows):", "m = 2", "return [m * line for line in rows]"),
    ),
    "a variable that an inner function reads": (
        inside("def f(rows):", "k = 2", "def g(): return k", "return g()"),
        inside("def f(rows):", "scale = 2", "def g(): return scale", "return g()"),
    ),
    "a function of a script that is called as tests are": (
        {"a.py": "def test(model): return model\nprint(test(1))\n"},
        {"a.py": "def evaluate(model): return model\nprint(evaluate(1))\n"},
    ),
}

OTHER: dict[str, tuple[Files, Files]] = {
    "a name that a function of its module binds again": (CONFIG | {"a.py": NAMED}, CONFIG | {"a.py": READ}),
    "a name that its module binds by what it is called": (
        {"config.py": "LR = 1\ndef put(k, v): globals()[k] = v\n", "a.py": NAMED},
        {"config.py": "LR = 1\ndef put(k, v): globals()[k] = v\n", "a.py": READ},
    ),
    "a name that another file replaces": (
        PLAIN | {"a.py": NAMED, "b.py": "import config\nconfig.LR = 2\n"},
        PLAIN | {"a.py": READ, "b.py": "import config\nconfig.LR = 2\n"},
    ),
    "a module that is loaded once more": (
        {
            "config.py": "LR = object()\n",
            "a.py": NAMED,
            "b.py": "import importlib, config\nimportlib.reload(config)\n",
        },
        {
            "config.py": "LR = object()\n",
            "a.py": READ,
            "b.py": "import importlib, config\nimportlib.reload(config)\n",
        },
    ),
    "a module that is of another class": (
        {"config.py": "import sys\nLR = 1\nsys.modules[__name__].__class__ = type(sys)\n", "a.py": NAMED},
        {"config.py": "import sys\nLR = 1\nsys.modules[__name__].__class__ = type(sys)\n", "a.py": READ},
    ),
    "a name that is another one while its module is loaded": (
        {"config.py": "LR = 1\nimport a\nLR = 2\n", "a.py": NAMED},
        {"config.py": "LR = 1\nimport a\nLR = 2\n", "a.py": READ},
    ),
    "a name of a package that a module of it takes": (
        {"p/__init__.py": "x = 1\n", "p/x.py": "", "a.py": "import p\nfrom p import x\ndef f(): return x\n"},
        {
            "p/__init__.py": "x = 1\n",
            "p/x.py": "",
            "a.py": "import p\nfrom p import x\ndef f(): return p.x\n",
        },
    ),
    "a submodule that nothing loads": (
        {
            "p/__init__.py": "",
            "p/q.py": LOG,
            "a.py": "import p\nfrom p.q import report\ndef f(): report(1, 2)\n",
        },
        {"p/__init__.py": "", "p/q.py": LOG, "a.py": "import p\ndef f(): p.q.report(1, 2)\n"},
    ),
    "a builtin that is asked of a module": (
        PLAIN | {"a.py": "import config\ndef f(): return len([1])\n"},
        PLAIN | {"a.py": "import config\ndef f(): return config.len([1])\n"},
    ),
    "a function of another project that the tree replaces": (
        {"a.py": PATCHED, "b.py": "import random\nrandom.random = lambda: 4\n"},
        {
            "a.py": PATCHED.replace("draw()", "random.random()"),
            "b.py": "import random\nrandom.random = lambda: 4\n",
        },
    ),
    "a constant of another module": (
        {"a.py": "import c\ndef f(): return c.A\n", "c.py": "A = [1]\n", "d.py": "A = [2]\n"},
        {"a.py": "import d\ndef f(): return d.A\n", "c.py": "A = [1]\n", "d.py": "A = [2]\n"},
    ),
    "another variable": (
        inside("def f():", "a = 1", "b = 2", "return a"),
        inside("def f():", "a = 1", "b = 2", "return b"),
    ),
    "two variables that become one": (
        inside("def f():", "a = 1", "b = 2", "return a, b"),
        inside("def f():", "a = 1", "a = 2", "return a, a"),
    ),
    "a variable under the name of a parameter": (
        inside("def f(a):", "b = 1", "return a"),
        inside("def f(a):", "a = 1", "return a"),
    ),
    "a variable under a name that hides the module's": (
        {"a.py": "y = 7\ndef f():\n    x = 1\n    return y\n"},
        {"a.py": "y = 7\ndef f():\n    y = 1\n    return y\n"},
    ),
    "a variable under a name that an inner function binds": (
        inside("def f():", "x = 1", "def g():", "    y = 2", "    return x", "return g()"),
        inside("def f():", "y = 1", "def g():", "    y = 2", "    return y", "return g()"),
    ),
    "a variable of a comprehension that hides a parameter": (
        inside("def f(w):", "return [w for v in range(3)]"),
        inside("def f(w):", "return [w for w in range(3)]"),
    ),
    "a name that a comprehension binds outside of itself": (
        inside("def f():", "k = 5", "r = [(k := i) for i in range(3)]", "return k"),
        inside("def f():", "k = 5", "r = [(j := i) for i in range(3)]", "return k"),
    ),
    "variables that are looked at": (
        inside("def f():", "a = 1", "return locals()"),
        inside("def f():", "b = 1", "return locals()"),
    ),
    "a variable that a text reads": (
        inside("def f(frame):", "low = 1", "return frame.query('x > @low')"),
        inside("def f(frame):", "least = 1", "return frame.query('x > @low')"),
    ),
    "an attribute of a class in a function": (
        inside("def f():", "class K:", "    y = 1", "return K"),
        inside("def f():", "class K:", "    z = 1", "return K"),
    ),
    "what an inner function is called": (
        inside("def f():", "def a(): pass", "return a"),
        inside("def f():", "def b(): pass", "return b"),
    ),
    "variables that inner functions share, let go in another order": (
        inside("def f():", "a = g()", "b = g()", "def h(): return a, b", "return h"),
        inside("def f():", "z = g()", "b = g()", "def h(): return z, b", "return h"),
    ),
    "a test of a script that a file of tests takes": (
        {"a.py": "def test(): return 1\n", "tests/test_a.py": "from a import *\n"},
        {"a.py": "def check(): return 1\n", "tests/test_a.py": "from a import *\n"},
    ),
    "a test in a file that the project looks for": (
        {"a.py": "def test(): return 1\n", "pytest.ini": "[pytest]\npython_files = *.py\n"},
        {"a.py": "def check(): return 1\n", "pytest.ini": "[pytest]\npython_files = *.py\n"},
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_another_spelling_is_proven(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*SAME[case])
    assert reviewed.status == 0, reviewed.document


@pytest.mark.parametrize("case", OTHER)
def test_something_else_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*OTHER[case])
    assert reviewed.status == 1, reviewed.document
