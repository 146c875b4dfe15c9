"""Changes that may change what a program does: never proven, whatever else moved with them."""

from collections.abc import Callable

import pytest

from tests.codemods.review.conftest import Files, Reviewed

BODY = """
def step(value, rate):
    first = value * rate
    second = value + rate
    for index in range(3):
        first = first - index * second
    return first, second, scale
"""
MORE = BODY.replace("step", "other").replace("first - index", "second - index")
BRANCH = "def f(x):\n    if x:\n        a()\n    else:\n        b()\n    c()\n"
BEFORE = """
def train(model, data, rate):
    seen = 0
    for batch in data:
        loss = model(batch)
        model.zero_grad()
        loss.backward()
        clip(model, 1.0)
        model.step(rate)
        seen += len(batch)
    return seen
"""
AFTER = """
def update(model, batch, rate):
    loss = model(batch)
    model.zero_grad()
    loss.backward()
    clip(model, 0.5)
    model.step(rate)

def train(model, data, rate):
    seen = 0
    for batch in data:
        update(model, batch, rate=rate)
        seen += len(batch)
    return seen
"""
META = "R = []\nclass M(type):\n    def __init__(cls, *a): R.append(cls)\n"
KEPT = "R = []\ndef put(f):\n    R.append(f)\n    return f\n"
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
FOLDED = "from functools import reduce\nseen = []\ndef f(a, b=0):\n    seen.append(a)\n    return len(seen)\n"
LOOKS = "from p import m\ndef f():\n    return m.g()\n"
REPLACES = "import b\nb.K = 2\nimport a\n"
BESIDE = LOOKS.replace(" p ", " . ")
TWO = {"q.py": "def g():\n    return 1\n", "r.py": "def g():\n    return 2\n"}
SWAPPED = ("from q import g\nfrom r import g as h\n", "from r import g\nfrom q import g as h\n")
STARRED = "from m import *\ndef w(): return g()\n"
LOADS_BY_NAME = "import importlib\nglobals().update(vars(importlib.import_module('k')))\n"
PLACED = "import builtins\ny = 1\ndef f(): return builtins.eval('y')\n"
ALIASED = "from c import ev\ny = 1\ndef f(): return ev('y')\n"
LOCALLY = "y = 1\ndef f():\n    import builtins as b\n    c = b\n    return c.eval('y')\n"
INSIDE = "def f():\n    from p import m\n    return m.g()\n"
COMPARED = "def g():\n    return f() is A\n"
LAZY = "def g():\n    import m\n    return m.f()\n"
ATTRIBUTE = "def g():\n    return p.m.x\n"
KINDS = "from p import KINDS\nKINDS.append('sgd')\n"

CASES: dict[str, tuple[Files, Files]] = {
    "a name that means another constant in the new place": (
        {"a.py": "scale = 1\n" + BODY},
        {"a.py": "from b import step\nscale = 1\n", "b.py": "scale = 2\n" + BODY},
    ),
    "a name that is imported from elsewhere": (
        {"a.py": "from m import scale\n" + BODY},
        {"a.py": "from n import scale\n" + BODY},
    ),
    "a name that is not there": ({"a.py": "scale = 1\n" + BODY}, {"a.py": BODY}),
    "a registry that is two now": (
        {"a.py": "kept = {}\ndef put(k):\n    kept[k] = 1\ndef get(k):\n    return kept[k]\n"},
        {
            "a.py": "from b import put\nkept = {}\ndef get(k):\n    return kept[k]\n",
            "b.py": "kept = {}\ndef put(k):\n    kept[k] = 1\n",
        },
    ),
    "a logger named after its module": (
        {"a.py": "import logging\nlog = logging.getLogger(__name__)\ndef f():\n    log.info('x')\n"},
        {"b.py": "import logging\nlog = logging.getLogger(__name__)\ndef f():\n    log.info('x')\n"},
    ),
    "globals of another module": (
        {"a.py": "def f():\n    return sorted(globals())\n"},
        {"b.py": "def f():\n    return sorted(globals())\n"},
    ),
    "two functions that changed their names": (
        {"a.py": "scale = 1\n" + BODY + MORE, "user.py": "import a\na.step(1, 2)\n"},
        {
            "a.py": "scale = 1\n" + BODY.replace("step", "other") + MORE.replace("other", "step"),
            "user.py": "import a\na.step(1, 2)\n",
        },
    ),
    "a use that does not follow": (
        {"a.py": "scale = 1\n" + BODY + "def run():\n    return step(1, 2)\n"},
        {
            "a.py": "scale = 1\n"
            + BODY.replace("step", "stepped")
            + "def step(a, b):\n    pass\n\ndef run():\n    return step(1, 2)\n"
        },
    ),
    "a module that lost what is read from it": (
        {"a.py": "scale = 1\n" + BODY, "b.py": "import a\ndef run():\n    return a.step(1, 2)\n# 1\n"},
        {"c.py": "scale = 1\n" + BODY, "a.py": "", "b.py": "import a\ndef run():\n    return a.step(1, 2)\n"},
    ),
    "a file outside the change that imports what is gone": (
        {"a.py": "scale = 1\n" + BODY, "user.py": "from a import step\n"},
        {"b.py": "scale = 1\n" + BODY, "user.py": "from a import step\n"},
    ),
    "a method that calls a function of its own name": (
        {"a.py": "def step(x):\n    return x\nclass A:\n    def step(self):\n        return step(self)\n"},
        {"a.py": "from m import step\nclass A:\n    def step(self):\n        return step(self)\n"},
    ),
    "a class attribute made of the module's name": (
        {"a.py": "rate = make(1)\nclass A:\n    rate = rate\n"},
        {"b.py": "rate = make(2)\nclass A:\n    rate = rate\n", "a.py": "rate = make(1)\n"},
    ),
    "a relative import inside": (
        {"p/a.py": "def f():\n    from . import x\n    return x\n", "p/x.py": "", "q/x.py": ""},
        {"q/a.py": "def f():\n    from . import x\n    return x\n", "p/x.py": "", "q/x.py": ""},
    ),
    "an import inside of what is gone": (
        {"a.py": "def f():\n    from b import g\n    return g\n# 1\n", "b.py": "def g(x):\n    return x\n"},
        {"a.py": "def f():\n    from b import g\n    return g\n", "c.py": "def g(x):\n    return x\n"},
    ),
    "statements that changed places": (
        {"a.py": "def f(x):\n    x.zero()\n    x.back()\n    x.step()\n"},
        {"a.py": "def f(x):\n    x.back()\n    x.zero()\n    x.step()\n"},
    ),
    "a statement from a branch to after it": (
        {"a.py": BRANCH},
        {"a.py": "def f(x):\n    if x:\n        a()\n    b()\n    c()\n"},
    ),
    "branches swapped": (
        {"a.py": BRANCH},
        {"a.py": BRANCH.replace("a()", "?").replace("b()", "a()").replace("?", "b()")},
    ),
    "a default": ({"a.py": "def f(x=1):\n    return x\n"}, {"a.py": "def f(x=1.0):\n    return x\n"}),
    "a sign of zero": ({"a.py": "def f():\n    return 0.0\n"}, {"a.py": "def f():\n    return -0.0\n"}),
    "a decorator": (
        {"a.py": "import torch\n@torch.no_grad()\ndef f():\n    pass\n"},
        {"a.py": "import torch\ndef f():\n    pass\n"},
    ),
    "a base class": (
        {"a.py": "class A: pass\nclass B(A):\n    def m(self):\n        return 1\n"},
        {"a.py": "class A: pass\nclass B:\n    def m(self):\n        return 1\n"},
    ),
    "a field's annotation": (
        {"a.py": "class A:\n    x: int = 1\n"},
        {"a.py": "class A:\n    x = 1\n"},
    ),
    "a method in another class": (
        {"a.py": "class A:\n    def m(self):\n        return super().m()\nclass B: pass\n"},
        {"a.py": "class A: pass\nclass B:\n    def m(self):\n        return super().m()\n"},
    ),
    "a private name in another class": (
        {"a.py": "class A:\n    def m(self):\n        return self.__x\n"},
        {"a.py": "class C:\n    def m(self):\n        return self.__x\n"},
    ),
    "a star import of the change": (
        {"a.py": "from b import *\n" + BODY, "b.py": "scale = 1\n"},
        {"a.py": "from b import *\n" + BODY + "x = 1\n", "b.py": "scale = 2\n"},
    ),
    "module statements in another order": (
        {"a.py": "import torch\ntorch.manual_seed(1)\nw = torch.rand(3)\n"},
        {"a.py": "import torch\nw = torch.rand(3)\ntorch.manual_seed(1)\n"},
    ),
    "a value of a list before it is filled": (
        {"a.py": "rows = []\nrows.append(1)\ncount = len(rows)\n"},
        {"a.py": "rows = []\ncount = len(rows)\nrows.append(1)\n"},
    ),
    "a copy of a table before it is filled": (
        {"a.py": "rows = {}\nrows.update(x=1)\nown = {**rows}\n"},
        {"a.py": "rows = {}\nown = {**rows}\nrows.update(x=1)\n"},
    ),
    "calls of what reduce is given, in another order": (
        {"a.py": FOLDED + "x = reduce(f, [1, 2])\ny = reduce(f, [3, 4])\n"},
        {"a.py": FOLDED + "y = reduce(f, [3, 4])\nx = reduce(f, [1, 2])\n"},
    ),
    "sorted by what keeps count, in another order": (
        {"a.py": FOLDED + "x = sorted([1, 2], key=f)\ny = sorted([3, 4], key=f)\n"},
        {"a.py": FOLDED + "y = sorted([3, 4], key=f)\nx = sorted([1, 2], key=f)\n"},
    ),
    "a method of a builtin class that changes its argument": (
        {"a.py": "rows = []\nx = list.append(rows, 1)\ny = list.append(rows, 2)\n"},
        {"a.py": "rows = []\ny = list.append(rows, 2)\nx = list.append(rows, 1)\n"},
    ),
    "a decimal context before what it rounds": (
        {"a.py": "import decimal\na = decimal.setcontext(decimal.Context(3))\nb = print(1)\n"},
        {"a.py": "import decimal\nb = print(1)\na = decimal.setcontext(decimal.Context(3))\n"},
    ),
    "a default worked out after a name is bound again": (
        {"a.py": "n = 1\ndef f(x=n):\n    return x\nn = 2\n"},
        {"a.py": "n = 1\nn = 2\ndef f(x=n):\n    return x\n"},
    ),
    "a call after a name is bound again": (
        {"a.py": "n = 1\ndef f():\n    print(n)\nf()\nn = 2\n"},
        {"a.py": "n = 1\ndef f():\n    print(n)\nn = 2\nf()\n"},
    ),
    "a function taken after another one of its name is there": (
        {"a.py": "def f():\n    return 1\ng = f\ndef f():\n    return 2\n"},
        {"a.py": "def f():\n    return 1\ndef f():\n    return 2\ng = f\n"},
    ),
    "classes registered in another order": (
        {"a.py": "from r import put\n@put\nclass A: pass\n@put\nclass B: pass\n"},
        {"a.py": "from r import put\n@put\nclass B: pass\n@put\nclass A: pass\n"},
    ),
    "classes kept in another order by their metaclass": (
        {"a.py": META + "class A(metaclass=M): pass\nclass B(metaclass=M): pass\n"},
        {"a.py": META + "class B(metaclass=M): pass\nclass A(metaclass=M): pass\n"},
    ),
    "functions kept in another order by a decorator of the change": (
        {"a.py": KEPT + "@put\ndef g(): pass\n@put\ndef h(): pass\n"},
        {"a.py": KEPT + "@put\ndef h(): pass\n@put\ndef g(): pass\n"},
    ),
    "what a module runs, in another file that was there": (
        {"a.py": "import torch\ntorch.set_grad_enabled(False)\n", "b.py": "import torch\n"},
        {"a.py": "import torch\n", "b.py": "import torch\ntorch.set_grad_enabled(False)\n"},
    ),
    "what a module runs, in a new file that nobody imports": (
        {"a.py": "import torch\ntorch.set_grad_enabled(False)\n"},
        {"a.py": "import torch\n", "b.py": "import torch\ntorch.set_grad_enabled(False)\n"},
    ),
    "a name that a file outside the change takes with all others": (
        {"a.py": "def f():\n    return 1\n", "user.py": "from a import *\nf()\n"},
        {"b.py": "def f():\n    return 1\n", "a.py": "", "user.py": "from a import *\nf()\n"},
    ),
    "fields whose annotations are texts now": (
        {"a.py": "class A:\n    x: int = 1\n"},
        {"a.py": "from __future__ import annotations\nclass A:\n    x: int = 1\n"},
    ),
    "modules in another order, one with a class named after its base": (
        {"b.py": "from z import A\nclass A(A): pass\n", "a.py": "import b\nimport y\n"},
        {"b.py": "from z import A\nclass A(A): pass\n", "a.py": "import y\nimport b\n"},
    ),
    "a module that runs now": ({"a.py": "x = 1\n"}, {"a.py": "import patches\nx = 1\n"}),
    "a module that runs no more": ({"a.py": "import patches\nx = 1\n"}, {"a.py": "x = 1\n"}),
    "a part of a package that runs no more": (
        {"a.py": "import plugins\nimport plugins.all\n"},
        {"a.py": "import plugins\n"},
    ),
    "a file of the tree that runs no more": (
        {"a.py": "import p.kinds\nx = 1\n", "p/__init__.py": "KINDS = []\n", "p/kinds.py": KINDS},
        {"a.py": "import p\nx = 1\n", "p/__init__.py": "KINDS = []\n", "p/kinds.py": KINDS},
    ),
    "a file of the change that runs no more": (
        {"a.py": "import kinds\nx = 1\n", "p.py": "KINDS = []\n", "kinds.py": KINDS},
        {"a.py": "x = 1\n", "p.py": "KINDS = []\n", "kinds.py": KINDS + "# the last one\n"},
    ),
    "a module of the tree that runs now, taken as a name": (
        {"a.py": "import p\nx = 1\n", "p/__init__.py": "KINDS = []\n", "p/kinds.py": KINDS},
        {"a.py": "from p import kinds\nx = 1\n", "p/__init__.py": "KINDS = []\n", "p/kinds.py": KINDS},
    ),
    "a file of the change that runs now": (
        {"a.py": "x = 1\n", "p.py": "KINDS = []\n", "kinds.py": KINDS},
        {"a.py": "import kinds\nx = 1\n", "p.py": "KINDS = []\n", "kinds.py": KINDS + "# the last one\n"},
    ),
    "an import that runs now, and was for type checkers": (
        {"a.py": TYPED + "    import patches\nelse:\n    import other\n"},
        {"a.py": TYPED + "    import other\nelse:\n    import patches\n"},
    ),
    "a name of a module in a folder without a package's file": (
        {"a.py": LOOKS, "p/m.py": "from q import g\nfrom r import g as h\n", **TWO},
        {"a.py": LOOKS + "#\n", "p/m.py": "from q import g as h\nfrom r import g\n", **TWO},
    ),
    "a name of a module beside it, in a package that is the root": (
        {"a.py": BESIDE, "m.py": "from q import g\nfrom r import g as h\n", **TWO},
        {
            "a.py": BESIDE + "#\n",
            "m.py": "from q import g as h\nfrom r import g\n",
            **TWO,
        },
    ),
    "names of one statement that changed places": ({"a.py": "x, y = 1, 2\n"}, {"a.py": "y, x = 1, 2\n"}),
    "a definition before the star import that may hide it": (
        {"a.py": "def h(): return 1\nfrom q import *\ndef f(): return h()\n"},
        {"a.py": "from q import *\ndef h(): return 1\ndef f(): return h()\n"},
    ),
    "a name imported beside a star import, from elsewhere": (
        {"a.py": "from o import *\nfrom q import g\nfrom r import g as k\ndef f(): return g()\n", **TWO},
        {"a.py": "from o import *\nfrom r import g\nfrom q import g as k\ndef f(): return g()\n", **TWO},
    ),
    "a private name of a class, which is one of the module": (
        {"a.py": "_A__k = 1\nclass A:\n    def f(self): return __k\n", "b.py": "_A__k = 2\n"},
        {"a.py": "_A__k = 1\n", "b.py": "_A__k = 2\nclass A:\n    def f(self): return __k\n"},
    ),
    "a builtin that is read before the module hides it": (
        {"a.py": "y = float\nclass float: pass\n"},
        {"a.py": "class float: pass\ny = float\n"},
    ),
    "a builtin base that the module hides later": (
        {"a.py": "class A(dict): pass\nclass dict: pass\n"},
        {"a.py": "class dict: pass\nclass A(dict): pass\n"},
    ),
    "a builtin called before an import hides it": (
        {"a.py": "y = max(1, 2)\nfrom numpy import max\n"},
        {"a.py": "from numpy import max\ny = max(1, 2)\n"},
    ),
    "a constant that is imported no more, and replaced where it was": (
        {"a.py": "from b import K\ndef f(): return K\n", "b.py": "K = 1\n", "c.py": REPLACES},
        {"a.py": "K = 1\ndef f(): return K\n", "b.py": "K = 1\n#\n", "c.py": REPLACES},
    ),
    "a name that Python looks for": (
        {"a.py": "def made(name): return 1\n"},
        {"a.py": "def __getattr__(name): return 1\n"},
    ),
    "a test that is none any more": (
        {"test_a.py": "def test_f(): assert 1\n"},
        {"test_a.py": "def check_f(): assert 1\n"},
    ),
    "a condition for type checkers that is true": (
        {"a.py": "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    print(1)\n"},
        {"a.py": "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    print(2)\n"},
    ),
    "a file that only imports, gone": ({"a.py": "import patches\n", "b.py": ""}, {"b.py": "# 1\n"}),
    "a local name that hides the module's": (
        {"a.py": "scale = 1\n" + BODY},
        {"a.py": "scale = 1\n" + BODY.replace("(value, rate)", "(value, rate, scale=2)")},
    ),
    "two packages of one name, the other one last": (
        {"a.py": "import m.b as x\nimport n.b as x\ndef f():\n    return x\n"},
        {"a.py": "import n.b as x\nimport m.b as x\ndef f():\n    return x\n"},
    ),
    "an alternative of an import": (
        {"a.py": "try:\n    from m import f\nexcept ImportError:\n    f = None\ndef g():\n    return f\n"},
        {"a.py": "try:\n    from n import f\nexcept ImportError:\n    f = None\ndef g():\n    return f\n"},
    ),
    "a name for type checkers that hides a builtin, imported in earnest now": (
        {"a.py": TYPED + "    from x import sum\ndef f(v):\n    return sum(v)\n"},
        {"a.py": "from typing import TYPE_CHECKING\nfrom x import sum\ndef f(v):\n    return sum(v)\n"},
    ),
    "an import that is for type checkers only now": (
        {"a.py": "from x import g\ndef f(v):\n    return g(v)\n"},
        {"a.py": TYPED + "    from x import g\ndef f(v):\n    return g(v)\n"},
    ),
    "a class for type checkers, and another one to run": (
        {"a.py": TYPED + "    class A: pass\nelse:\n    A = int\ndef f(v):\n    return A(v)\n"},
        {"a.py": TYPED + "    class A: pass\nelse:\n    A = str\ndef f(v):\n    return A(v)\n"},
    ),
    "a field that is made of a class for type checkers": (
        {"a.py": "from __future__ import annotations\nfrom x import T\nclass A:\n    t: T = T()\n"},
        {
            "b.py": "from __future__ import annotations\n"
            + TYPED
            + "    from x import T\nclass A:\n    t: T = T()\n"
        },
    ),
    "a name that is read before it is there, beside a file that runs nothing": (
        {"e.py": "x = 1\n", "a.py": "x = 1\ny = x\n"},
        {"e.py": "", "a.py": "import e\ny = x\nx = 1\n"},
    ),
    "eval of the module of builtins, in another file": (
        {"a.py": PLACED, "b.py": "y = 2\n"},
        {"a.py": "y = 1\nfrom b import f\n", "b.py": PLACED.replace("1", "2")},
    ),
    "eval imported under another name, through another file": (
        {"a.py": ALIASED, "b.py": "y = 2\n", "c.py": "from builtins import eval as ev\n"},
        {
            "a.py": "y = 1\nfrom b import f\n",
            "b.py": ALIASED.replace("1", "2"),
            "c.py": "from builtins import eval as ev\n",
        },
    ),
    "eval that another file has a name for": (
        {"a.py": ALIASED, "b.py": "y = 2\n", "c.py": "ev = eval\n"},
        {"a.py": "y = 1\nfrom b import f\n", "b.py": ALIASED.replace("1", "2"), "c.py": "ev = eval\n"},
    ),
    "eval of builtins under a local name": (
        {"a.py": LOCALLY, "b.py": "y = 2\n"},
        {"a.py": "y = 1\nfrom b import f\n", "b.py": LOCALLY.replace("= 1", "= 2")},
    ),
    "a name of a module that a function imports": (
        {"a.py": INSIDE, "p/m.py": "from q import g\nfrom r import g as h\n", **TWO},
        {"a.py": INSIDE + "#\n", "p/m.py": "from q import g as h\nfrom r import g\n", **TWO},
    ),
    "a tuple that is copied, and compared by is": (
        {"a.py": "A = (1, 2)\ndef f(): return A\n", "b.py": "from a import A, f\n" + COMPARED},
        {"a.py": "A = (1, 2)\ndef f(): return A\n#\n", "b.py": "from a import f\nA = (1, 2)\n" + COMPARED},
    ),
    "a tuple that is copied, and compared by a file outside the change": (
        {"a.py": "A = (1, 2)\ndef f(): return A\n", "u.py": "from a import A, f\n" + COMPARED},
        {
            "a.py": "A = (1, 2)\nfrom c import f\n",
            "c.py": "A = (1, 2)\ndef f(): return A\n",
            "u.py": "from a import A, f\n" + COMPARED,
        },
    ),
    "a text that is copied, and compared by is": (
        {"a.py": "A = 'a b'\ndef f(): return A\n", "b.py": "from a import A, f\n" + COMPARED},
        {"a.py": "A = 'a b'\ndef f(): return A\n#\n", "b.py": "from a import f\nA = 'a b'\n" + COMPARED},
    ),
    "an empty file of a package that goes": (
        {"p/__init__.py": "", "p/m.py": "x = 1\n"},
        {"p/m.py": "x = 1\n"},
    ),
    "an empty file that makes a package": (
        {"p/m.py": "x = 1\n"},
        {"p/__init__.py": "", "p/m.py": "x = 1\n"},
    ),
    "a package's file whose definitions moved": (
        {"p/__init__.py": "def f():\n    return 1\n", "p/m.py": "x = 1\n"},
        {"p/m.py": "x = 1\n", "q.py": "def f():\n    return 1\n"},
    ),
    "a module that moved, imported by a file outside the change": (
        {"m.py": "def f():\n    return 1\n", "u.py": "import m\n"},
        {"n.py": "def f():\n    return 1\n", "u.py": "import m\n"},
    ),
    "a module that moved, imported in a function outside the change": (
        {"m.py": "def f():\n    return 1\n", "u.py": LAZY},
        {"n.py": "def f():\n    return 1\n", "u.py": LAZY},
    ),
    "a module of a package that moved, imported by a file of the change": (
        {"p/__init__.py": "", "p/m.py": "def f():\n    return 1\n", "u.py": "from p import m\n"},
        {"p/__init__.py": "", "p/n.py": "def f():\n    return 1\n", "u.py": "from p import m\n#\n"},
    ),
    "a name that a file of the change imports still": (
        {"m.py": "def f():\n    return 1\n", "u.py": "from m import f\n"},
        {"m.py": "", "n.py": "def f():\n    return 1\n", "u.py": "from m import f\n#\n"},
    ),
    "a name of a package, which a file in it imports": (
        {"p/__init__.py": "def f():\n    return 1\n", "p/u.py": "from . import f\n"},
        {"p/__init__.py": "", "q.py": "def f():\n    return 1\n", "p/u.py": "from . import f\n"},
    ),
    "an empty module that is gone": ({"m.py": "", "u.py": "import m\n"}, {"u.py": "import m\n"}),
    "a new module that hides another one": (
        {"u.py": "import json\nx = json.dumps(1)\n"},
        {"u.py": "import json\nx = json.dumps(1)\n", "json.py": ""},
    ),
    "a module of a package that is no longer imported, and read": (
        {"p/__init__.py": "", "p/m.py": "x = 1\n", "u.py": "import p\nimport p.m\n" + ATTRIBUTE},
        {"p/__init__.py": "", "p/m.py": "x = 1\n", "u.py": "import p\n" + ATTRIBUTE},
    ),
    "a name that a file outside the change reads too early, in a circle": (
        {"a.py": "X = 1\nfrom b import f\n", "b.py": "from a import X\ndef f(): return X\n"},
        {"a.py": "from b import f\nX = 1\n", "b.py": "from a import X\ndef f(): return X\n"},
    ),
    "a name that a file outside the change reads of a module too early": (
        {"a.py": "X = 1\nfrom c import f\n", "b.py": "import a\nY = a.X\n", "c.py": "import b\nf = b.Y\n"},
        {"a.py": "from c import f\nX = 1\n", "b.py": "import a\nY = a.X\n", "c.py": "import b\nf = b.Y\n"},
    ),
    "a name that a file outside the change takes of a star import of the change": (
        {"m.py": SWAPPED[0], "f.py": "from m import *\n", "u.py": "from f import g\ng()\n", **TWO},
        {"m.py": SWAPPED[1], "f.py": "from m import *\n#\n", "u.py": "from f import g\ng()\n", **TWO},
    ),
    "a star import of a package, of which the change has a part": (
        {"m/__init__.py": "from .k import *\n", "m/k.py": SWAPPED[0], "f.py": STARRED, **TWO},
        {"m/__init__.py": "from .k import *\n", "m/k.py": SWAPPED[1], "f.py": STARRED + "#\n", **TWO},
    ),
    "a star import of a package that gets another module as a name": (
        {"m/__init__.py": "", "m/g.py": "", "f.py": "def g(): pass\n" + STARRED, "k.py": "import f\n"},
        {
            "m/__init__.py": "",
            "m/g.py": "",
            "f.py": "def g(): pass\n" + STARRED + "#\n",
            "k.py": "import m.g\nimport f\n",
        },
    ),
    "two star imports in another order": (
        {"f.py": "from q import *\nfrom r import *\ndef w(): return g()\n", **TWO},
        {"f.py": "from r import *\nfrom q import *\ndef w(): return g()\n", **TWO},
    ),
    "a star import of a file that loads by name what changed": (
        {"m.py": LOADS_BY_NAME, "k.py": SWAPPED[0], "f.py": STARRED, **TWO},
        {"m.py": LOADS_BY_NAME, "k.py": SWAPPED[1], "f.py": STARRED + "#\n", **TWO},
    ),
    "a relative star import, in another folder": (
        {"a/m.py": TWO["q.py"], "b/m.py": TWO["r.py"], "a/f.py": STARRED.replace(" m ", " .m ")},
        {"a/m.py": TWO["q.py"], "b/m.py": TWO["r.py"], "b/f.py": STARRED.replace(" m ", " .m ")},
    ),
    "a name that a file outside the change reads too early, by a function that it calls": (
        {"a.py": "X = 1\nimport b\n", "b.py": "import a\ndef g(): return a.X\nY = g()\n"},
        {"a.py": "import b\nX = 1\n", "b.py": "import a\ndef g(): return a.X\nY = g()\n"},
    ),
    "a name that a function of the change reads too early for a file outside it": (
        {"a.py": "X = 1\ndef h(): return X\nimport b\n", "b.py": "import a\nY = a.h()\n"},
        {"a.py": "def h(): return X\nimport b\nX = 1\n", "b.py": "import a\nY = a.h()\n"},
    ),
    "a module of a package that is no longer imported, and read outside the change": (
        {"p/__init__.py": "", "p/m.py": "x = 1\n", "u.py": "import p.m\n", "v.py": "import p\n" + ATTRIBUTE},
        {"p/__init__.py": "", "p/m.py": "x = 1\n", "u.py": "", "v.py": "import p\n" + ATTRIBUTE},
    ),
    "what pytest gives to the tests of another folder": (
        {"t/conftest.py": "def f(): return 1\n", "t/test_a.py": ""},
        {"t/s/conftest.py": "def f(): return 1\n", "t/test_a.py": ""},
    ),
    "a class in a function that reads a name of the module before it binds it": (
        {"a.py": "x = []\ndef f():\n    class C:\n        x = x\n    return C.x\n", "b.py": "x = {}\n"},
        {"a.py": "x = []\n", "b.py": "x = {}\ndef f():\n    class C:\n        x = x\n    return C.x\n"},
    ),
    "a name of a class in a function": (
        {"a.py": "def f():\n    class C:\n        x = 1\n    return C\n"},
        {"a.py": "def f():\n    class C:\n        y = 1\n    return C\n"},
    ),
    "a file that does not parse": ({"a.py": "x = 1\n"}, {"a.py": "x = = 1\n"}),
    "binary content in a Python file": ({"a.py": "x = 1\n"}, {"a.py": "x = 1\0\n"}),
}


@pytest.mark.parametrize("case", CASES)
def test_something_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 1, reviewed.document


def test_a_new_name_is_told_of_those_who_take_all_names(compare: Callable[[Files, Files], Reviewed]) -> None:
    base = {
        "zoo/__init__.py": "x = 1\n",
        "zoo/a.py": "from . import *\n",
        "b.py": "from zoo import \\\n    *\n",
    }
    reviewed = compare(base, {**base, "zoo/__init__.py": "x = 1\nlen = max\n"})
    [met] = reviewed.document["met"]
    assert (met["path"], met["name"], met["users"]) == ("zoo/__init__.py", "len", ["b.py", "zoo/a.py"])


def test_the_changed_line_alone_is_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(
        {"a.py": "scale = 1\n" + BODY}, {"a.py": "scale = 1\n" + BODY.replace("value + rate", "value - rate")}
    )
    assert reviewed.classes() == {"scale": "same", "step": "changed"}
    assert reviewed.left("gone") == reviewed.left("new") == {("a.py", 5)}


def test_a_split_by_hand_leaves_what_is_not_a_move(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare({"a.py": BEFORE}, {"a.py": AFTER})
    assert reviewed.classes()["update"] == "new"
    assert ("a.py", 8) in reviewed.left("gone")
    assert not {("a.py", 5), ("a.py", 6), ("a.py", 7)} & reviewed.left("gone")
    assert ("a.py", 6) in reviewed.left("new")


def test_a_function_that_reads_a_name_that_is_gone_is_changed(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    reads = "def f(x):\n    return x + rate\n"
    assert compare({"a.py": f"rate = 1\n{reads}"}, {"a.py": reads}).classes()["f"] == "changed"


def test_a_statement_that_binds_many_names_is_told_and_counted_once(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    guard = "if __name__ == '__main__':\n"
    body = "    net = make()\n    many = 2\n    for i in range(many):\n        print(net(i))\n"
    found = compare({"a.py": guard + body}, {"a.py": f"def main():\n{body}{guard}    main()\n"})
    assert found.document["statements"]["before"] == 5
    # The guard stands where it stood, over something else; the rest is the function's body.
    assert found.left("gone") == {("a.py", 1)}
    assert found.document["left"]["before"] == 1
