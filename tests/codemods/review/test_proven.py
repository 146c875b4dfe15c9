"""Changes that change nothing: proven, exit status 0."""

from collections.abc import Callable

import pytest

from tests.codemods.review.conftest import Files, Reviewed

LONG = """
def smooth(values, weight):
    total = 0.0
    for value in values:
        total = total * weight + value * (1 - weight)
        if total > LIMIT:
            total = LIMIT
    return total
"""
USE = """
def run(values):
    return smooth(values, 0.5)
"""
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
KINDS = "KINDS = []\nKINDS.append('sgd')\n"
OPTIONAL = (
    "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\ndef f(): return nowhere is None\n"
)
NET = "class Net(nn.Module):\n    def forward(self, x): return F.relu(x)\n"
NETS = "class Net:\n    def width(self): return 3\ndef head(): return Net().width()\n"
STORED = "R = {}\ndef put(f):\n    R[f.__name__] = f\n    return f\n"
CASES: dict[str, tuple[Files, Files]] = {
    "modules that read what nothing sets, imported in another order": (
        {
            "s.py": "v = 1\n",
            "a.py": "import s\nx = s.v\n",
            "b.py": "from s import v\n",
            "m.py": "import a\nimport b\n",
        },
        {
            "s.py": "v = 1\n",
            "a.py": "import s\nx = s.v\n",
            "b.py": "from s import v\n",
            "m.py": "import b\nimport a\n",
        },
    ),
    "a submodule that is imported by another spelling": (
        {"a.py": "from torch import nn\nimport torch.nn.functional as F\n" + NET},
        {"a.py": "import torch.nn as nn\nfrom torch.nn import functional as F\n" + NET},
    ),
    "a module that may be missing, asked for elsewhere": (
        {"a.py": OPTIONAL + "def g(): return 1\n"},
        {"a.py": "from b import f\ndef g(): return 1\n", "b.py": OPTIONAL},
    ),
    "a module that is renamed, of which attributes are read": (
        {"a.py": "import m\ndef g(): return m.f() + m.K\n", "m.py": "K = 1\ndef f(): return K\n"},
        {"a.py": "import n\ndef g(): return n.f() + n.K\n", "n.py": "K = 1\ndef f(): return K\n"},
    ),
    "a module of the standard library beside a file of its name that goes": (
        {
            "p/__init__.py": "",
            "p/types.py": "def h(): return 1\n",
            "p/a.py": "import types\nfrom .types import h\ndef f(): return types.SimpleNamespace(x=h())\n",
            "p/b.py": "import types\ndef k(): return types.FunctionType\n",
        },
        {
            "p/__init__.py": "",
            "p/kinds.py": "def h(): return 1\n",
            "p/a.py": "import types\nfrom .kinds import h\ndef f(): return types.SimpleNamespace(x=h())\n",
            "p/b.py": "import types\ndef k(): return types.FunctionType\n",
        },
    ),
    "a module of the standard library beside a file of its name that comes": (
        {"p/__init__.py": "", "p/a.py": "import types\ndef h(): return 1\ndef f(): return types, h()\n"},
        {
            "p/__init__.py": "",
            "p/a.py": "import types\nfrom .types import h\ndef f(): return types, h()\n",
            "p/types.py": "def h(): return 1\n",
        },
    ),
    "annotations of what a decorator that does not ask for them decorates": (
        {"r.py": STORED, "a.py": "from r import put\n@put\ndef f(x): return x\n"},
        {"r.py": STORED, "a.py": "from r import put\n@put\ndef f(x: int): return x\n"},
    ),
    "a name that moves from a file that only looks into its names": (
        {"a.py": "K = 1\ndef f(): return K\ndef go(n): return globals().get(n), globals()[n]\n"},
        {
            "a.py": "from b import f, K\ndef go(n): return globals().get(n), globals()[n]\n",
            "b.py": "K = 1\ndef f(): return K\n",
        },
    ),
    "a relative import in a folder whose files have some": (
        {"s/a.py": "from .m import t\n", "s/b.py": "from s.m import t\n", "s/m.py": "t = 1\n"},
        {"s/a.py": "from .m import t\n", "s/b.py": "from .m import t\n", "s/m.py": "t = 1\n"},
    ),
    "a definition that is registered, in a file that is loaded by the old one": (
        {"r.py": STORED, "a.py": "from r import put\n@put\ndef f(): return 1\ndef g(): return 2\n"},
        {
            "r.py": STORED,
            "a.py": "import b\ndef g(): return 2\n",
            "b.py": "from r import put\n@put\ndef f(): return 1\n",
        },
    ),
    "reformatted": (
        {"a.py": "def f(x):\n    return (x\n        + 1)\n"},
        {"a.py": "# a comment\ndef f(x):\n    return x + 1\n"},
    ),
    "annotated": (
        {"a.py": "def f(x):\n    y = x\n    return y\n"},
        {"a.py": 'def f(x: int) -> int:\n    """Says x."""\n    y: int = x\n    return y\n'},
    ),
    "moved": (
        {"a.py": "LIMIT = 10\n" + LONG + USE},
        {"a.py": "from b import smooth\n" + USE, "b.py": "LIMIT = 10\n" + LONG},
    ),
    "moved and imported as a module's name, with what it needs": (
        {"p/__init__.py": "", "p/a.py": "import math\n" + LONG.replace("LIMIT", "math.pi") + USE},
        {
            "p/__init__.py": "",
            "p/a.py": "from .b import smooth\n" + USE,
            "p/b.py": "import math\n" + LONG.replace("LIMIT", "math.pi"),
        },
    ),
    "renamed with its uses": (
        {"a.py": "LIMIT = 10\n" + LONG + USE},
        {"a.py": "LIMIT = 10\n" + (LONG + USE).replace("smooth", "smoothed")},
    ),
    "imported under another name": (
        {"a.py": "import math\ndef f(x):\n    return math.sqrt(x)\n"},
        {"a.py": "import math as m\ndef f(x):\n    return m.sqrt(x)\n"},
    ),
    "a package imported with one of its modules": (
        {"a.py": "import torch\nimport torch.jit\ndef f(x):\n    return torch.relu(x)\n"},
        {"b.py": "import torch.jit\nimport torch\ndef f(x):\n    return torch.relu(x)\n"},
    ),
    "a constant said twice": (
        {"a.py": "EPS = 1e-8\ndef f(x):\n    return x + EPS\ndef g(x):\n    return x - EPS\n"},
        {
            "a.py": "from b import g\nEPS = 1e-8\ndef f(x):\n    return x + EPS\n",
            "b.py": "EPS = 1e-8\ndef g(x):\n    return x - EPS\n",
        },
    ),
    "a star import of a file outside the change": (
        {"a.py": "from m import *\nx = 1\ndef f(): return g(x)\n", "m.py": "def g(x): return x\n"},
        {"a.py": "from m import *\nx = 1\n\ndef f():\n    return g(x)\n", "m.py": "def g(x): return x\n"},
    ),
    "a star import of a package outside the change": (
        {
            "a.py": "from m import *\ndef f(): return g(1)\n",
            "m/__init__.py": "from .n import *\n",
            "m/n.py": "import os\ndef g(x): return os.sep\n",
            "other.py": "x = 1\n",
        },
        {
            "a.py": "from m import *\n\ndef f():\n    return g(1)\n",
            "m/__init__.py": "from .n import *\n",
            "m/n.py": "import os\ndef g(x): return os.sep\n",
            "other.py": "x = 1\n# one\n",
        },
    ),
    "moved, with annotations of a function inside": (
        {"a.py": "def f(x):\n    def g(y):\n        return y\n    return g\n"},
        {
            "a.py": "from b import f\n",
            "b.py": "def f(x: int):\n    def g(y: 'int') -> Literal[5]:\n        return y\n    return g\n",
        },
    ),
    "moved, with a docstring and a name that is an attribute, too": (
        {"a.py": "from m import foo\ndef f(x):\n    return foo(x).bar + 7\n"},
        {
            "a.py": "from b import f\n",
            "b.py": "from m import foo as bar\ndef f(x):\n    'Says 8.'\n    return bar(x).bar + 7\n",
        },
    ),
    "a circle through a file outside the change that reads names in functions": (
        {"a.py": "X = 1\nimport b\n", "b.py": "import a\ndef g(): return a.X\n"},
        {"a.py": "import b\nX = 1\n", "b.py": "import a\ndef g(): return a.X\n"},
    ),
    "moved, with a class inside that binds names": (
        {"a.py": "def f(n):\n    class C:\n        a = n\n        b = lambda self: n\n    return C.a\n"},
        {
            "a.py": "from b import f\n",
            "b.py": "def f(n):\n    class C:\n        a = n\n        b = lambda self: n\n    return C.a\n",
        },
    ),
    "a tuple said twice, compared with None alone": (
        {"a.py": "A = (1, 2)\ndef f(x):\n    return A if x is None else x\ndef g():\n    return A\n"},
        {
            "a.py": "from b import g\nA = (1, 2)\ndef f(x):\n    return A if x is None else x\n",
            "b.py": "A = (1, 2)\ndef g():\n    return A\n",
        },
    ),
    "a module that is a package now, imported by a file outside the change": (
        {"a.py": "def f():\n    return 1\n", "user.py": "import a\na.f()\n"},
        {
            "a/__init__.py": "from .b import f\n",
            "a/b.py": "def f():\n    return 1\n",
            "user.py": "import a\na.f()\n",
        },
    ),
    "names for type checkers": (
        {
            "a.py": TYPED + "    from x import T\n    from y import open\n"
            "    class P: pass\ndef f(v: T) -> P:\n    with open(v) as file:\n        return file\n"
        },
        {"b.py": "def f(v):\n    with open(v) as file:\n        return file\n"},
    ),
    "a field whose class is for type checkers": (
        {
            "a.py": "from __future__ import annotations\n"
            + TYPED
            + "    from x import T\nclass A:\n    t: T\n"
        },
        {
            "b.py": "from __future__ import annotations\n"
            + TYPED
            + "    from x import T\nclass A:\n    t: T\n"
        },
    ),
    "a field whose class is for type checkers now": (
        {
            "a.py": "from __future__ import annotations\nfrom fractions import Fraction as T\n"
            "class A:\n    t: T\n"
        },
        {
            "b.py": "from __future__ import annotations\n"
            + TYPED
            + "    from fractions import Fraction as T\nclass A:\n    t: T\n"
        },
    ),
    "a condition for type checkers that is never true": (
        {"a.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from x import T\ndef f(): return 1\n"},
        {"a.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from y import T\ndef f(): return 1\n"},
    ),
    "a test under another name": (
        {"a.py": "def test_f(): assert 1\n"},
        {"a.py": "def test_g(): assert 1\n"},
    ),
    "a class moved with its methods": (
        {"a.py": "class C:\n    n = 1\n    def m(self):\n        return self.n\n"},
        {"b.py": "class C:\n    n = 1\n    def m(self):\n        return self.n\n"},
    ),
    "what a module runs, in a new file that it imports": (
        {"a.py": "import torch\ntorch.set_grad_enabled(False)\ndef f():\n    return 1\n"},
        {
            "a.py": "import b\ndef f():\n    return 1\n",
            "b.py": "import torch\ntorch.set_grad_enabled(False)\n",
        },
    ),
    "an import that another file of the change has": (
        {"a.py": "import patches\nimport b\nx = 1\n", "b.py": "y = 1\n"},
        {"a.py": "import b\nx = 1\n", "b.py": "import patches\ny = 1\n"},
    ),
    "an import that a file outside the change has": (
        {"a.py": "import patches\nimport b\nx = 1\n", "b.py": "import patches\n"},
        {"a.py": "import b\nx = 1\n", "b.py": "import patches\n"},
    ),
    "imports of what does nothing when it is loaded": (
        {"a.py": "import os\nimport torch.nn as nn\nimport m\nx = 1\n", "m.py": "def f(): pass\n"},
        {"a.py": "x = 1\n", "m.py": "def f(): pass\n"},
    ),
    "a module imported in another way": (
        {"a.py": "import p\nimport p.q\nfrom r import s\nimport r.s\n"},
        {"a.py": "from p import q as _\nimport r.s\n"},
    ),
    "a name of a package, imported as a module": ({"a.py": "from p import q\n"}, {"a.py": "import p.q\n"}),
    "a module, imported as a name of its package": (
        {"p/__init__.py": "", "p/a.py": "import p.k\n", "p/k.py": KINDS},
        {"p/__init__.py": "", "p/a.py": "from . import k\n", "p/k.py": KINDS},
    ),
    "a name of a package of the tree, imported as a module": (
        {"p/__init__.py": "", "p/a.py": "from . import k\n", "p/k.py": KINDS},
        {"p/__init__.py": "", "p/a.py": "import p.k\n", "p/k.py": KINDS},
    ),
    "a package that its own modules import": (
        {"p/__init__.py": "print(1)\n", "p/a.py": "from .b import g\n", "p/b.py": "def g(): pass\n"},
        {"p/__init__.py": "print(1)\n#\n", "p/a.py": "from p.b import g\n", "p/b.py": "def g(): pass\n"},
    ),
    "files that have names in common, moved to another folder": (
        {
            "a.py": NETS + "class Small(Net):\n    def go(self): return head() + 1\n",
            "b.py": NETS + "class Large(Net):\n    def go(self): return head() + 2\n",
            "main.py": "import a\nimport b\ndef run(): return a.Small().go() + b.Large().go()\n",
        },
        {
            "nets/__init__.py": "",
            "nets/a.py": NETS + "class Small(Net):\n    def go(self): return head() + 1\n",
            "nets/b.py": NETS + "class Large(Net):\n    def go(self): return head() + 2\n",
            "main.py": "from nets import a, b\ndef run(): return a.Small().go() + b.Large().go()\n",
        },
    ),
    "the same definitions of two scripts, each moved to a file beside its script": (
        {"a/train.py": NETS + "def a(): return head()\n", "b/train.py": NETS + "def b(): return head()\n"},
        {
            "a/train.py": "from a.nets import head\ndef a(): return head()\n",
            "a/nets.py": NETS,
            "b/train.py": "from b.nets import head\ndef b(): return head()\n",
            "b/nets.py": NETS,
        },
    ),
    "a private method in another file": (
        {"a.py": "class A:\n    def __f(self): return 1\n    def g(self): return self.__f()\n"},
        {"b.py": "class A:\n    def __f(self): return 1\n    def g(self): return self.__f()\n"},
    ),
    "re-exported for files that import it": (
        {"a.py": "LIMIT = 10\n" + LONG, "user.py": "from a import smooth\n"},
        {
            "a.py": "from b import smooth\n",
            "b.py": "LIMIT = 10\n" + LONG,
            "user.py": "from a import smooth\n",
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 0, reviewed.document
    assert set(reviewed.classes().values()) <= {"same", "renamed"}


def test_a_new_name_is_shown(compare: Callable[[Files, Files], Reviewed]) -> None:
    assert compare(*CASES["renamed with its uses"]).classes() == {
        "LIMIT": "same",
        "smoothed": "renamed",
        "run": "same",
    }


def test_trees_that_are_alike_have_nothing_to_compare(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare({"a.py": "x = 1\n"}, {"a.py": "x = 1\n"})
    assert (reviewed.status, reviewed.document["files"]) == (0, 0)
