"""Generated projects of several files: star imports, `__all__`, patches, readers of names, later rebinding.

python -m tests.codemods.fuzz.modules [--seconds N] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.extract import main as extract
from tests.codemods.hazards.corpus import Case, Expectation, Program
from tests.codemods.hazards.run import Crashed, Kept, Unmet, Wrong, run_case

NAMES = ("h", "_h", "_outer_h", "tool", "_tool", "limit")
SPREADS = ("", "__all__ = ['outer', {0!r}]\n", "__all__ = ['outer']\n")
# What the module has around its function; {0} and {1} are names.
BEFORE = (
    "from a import *\n",
    "try:\n    from a import *\nexcept ImportError:\n    pass\n",
    "from json import dumps\n",
    "import a\n",
    "def __getattr__(name):\n    return 'made ' + name\n",
    "def {0}(*a, **k):\n    return 'mine'\n",
    "{0} = 4\n",
    "import sys\nsys.modules[__name__].{0} = 'kept'\n",
)
AFTER = (
    "from a import *\n",
    "for turn in range(2):\n    from a import *\n",
    "try:\n    from missing import *\nexcept ImportError:\n    pass\n",
    "def change():\n    global {0}\n    {0} = 'changed'\n",
    "def {0}(*a, **k):\n    return 'later'\n",
    "import sys\ndef ask(name):\n    return getattr(sys.modules[__name__], 'cmd_' + name, None)\n",
    "import b\n",
)
BODIES = (
    "    def {0}(x):\n        return x + n\n    return {0}(1)\n",
    "    def {0}(x):\n        return dumps([x, n])\n    return {0}(1)\n",
    "    def {0}(x):\n        return limit + x + n\n    return {0}(1)\n",
    "    def {0}(x):\n        def g():\n            return x + n\n        return g\n    return {0}(1)()\n",
    "    def {0}(x):\n        return open, x, n\n    return {0}(1)[1:]\n",
    "    def {0}(x):\n        return {0}(x - 1) if x else n\n    return {0}(3)\n",
)
OTHER = (
    "def {0}(*a, **k):\n    return 'star'\nlimit = 3\n",
    "__all__ = [{0!r}, {1!r}]\n{0} = {1} = lambda *a, **k: 'star'\n",
    "from b import *\n",
    "import b\nfrom b import *\n__all__ = [] + b.__all__\n",
    "limit = 5\n_hidden = 6\n",
    "__all__ = ['_' + c for c in 'h']\n_h = 'computed'\n",
)
USES = (
    "show(lambda: m.outer(1))\n",
    "show(lambda: m.{0})\n",
    "show(lambda: hasattr(m, {0!r}))\n",
    "show(lambda: getattr(m, {0!r}, 'none'))\n",
    "show(lambda: sorted(n for n in dir(m) if n[0] != '_'))\n",
    "show(lambda: sorted(n for n in vars(m) if n[:2] != '__'))\n",
    "m.{0} = 'patched'\n",
    "m.dumps = lambda v: 'fake'\n",
    "m.limit = 50\n",
    "from unittest import mock\nwith mock.patch('m.{0}', 5, create=True):\n    show(lambda: m.outer(2))\n",
    "from unittest import mock\n"
    "with mock.patch.object(m, 'dumps', str, create=True):\n    show(lambda: m.outer(2))\n",
    "def swap(module):\n    module.dumps = str\nswap(m)\n",
    "import importlib\nold = m.outer\nimportlib.reload(m)\nshow(lambda: old(3))\n",
    "{0} = 'mine'\ntry:\n    from m import *\nexcept AttributeError:\n    pass\nshow(lambda: {0})\n",
    "try:\n    from m import {0}\nexcept ImportError:\n    {0} = 'none'\nshow(lambda: {0})\n",
    "for name in ({0!r}, {1!r}):\n    show(lambda: getattr(m, name, 'none'))\n",
    "m.__dict__.update({0}='put')\n",
    "show(lambda: '{0}' in m.__dict__)\n",
    "try:\n    import helpers\n    show(lambda: helpers.{0})\nexcept ImportError:\n    pass\n",
    "try:\n    from helpers import *\n    show(lambda: limit)\nexcept ImportError:\n    pass\n",
    "if hasattr(m, 'change'):\n    m.change()\n",
    "import runpy\nshow(lambda: runpy.run_path('m.py')['outer'](4))\n",
    "show(lambda: m.outer.__globals__['__name__'])\n",
)
SHOW = """\
def show(f):
    try:
        v = f()
    except Exception as e:
        v = type(e).__name__
    print(v.__module__ + '.' + v.__name__ if callable(v) and v.__module__ in ('a', 'b') else
          'callable' if callable(v) else v if isinstance(v, (str, int, list, tuple)) else type(v).__name__)
"""
PLAN = 'version = 1\nsource = "m.py"\nfunction = "outer"\n\n[[move]]\nto = "helpers.py"\nnames = [{0!r}]\n'
WAYS = ("m.py", "m.py --to helpers.py", "--plan plan.toml")


def case_of(seed: int) -> Case:
    """The project of a seed, and how the tool is asked to lift in it."""
    draw = random.Random(seed)

    def filled(text: str) -> str:
        return text.format(*draw.sample(NAMES, 2))

    def some(texts: tuple[str, ...], most: int) -> str:
        return "".join(filled(text) for text in draw.sample(texts, draw.randrange(most + 1)))

    helper = draw.choice(("h", "h", "_h", "tool"))
    body = draw.choice(BODIES).format(helper)
    module = some(BEFORE, 2) + filled(draw.choice(SPREADS)) + "def outer(n):\n" + body + some(AFTER, 2)
    files: Program = {
        "m.py": module,
        "a.py": filled(draw.choice(OTHER)),
        "b.py": draw.choice(("__all__ = ['_h']\n_h = 'b'\n", "h = 'b'\n", "import m\nlimit = 9\n")),
        "main.py": SHOW + "import m\n" + some(USES, 5) + "show(lambda: m.outer(1))\n",
    }
    there = ("limit = 3\n", "from a import *\n", "__all__ = ['limit']\nlimit = 3\n")
    if draw.random() < 0.3:
        files["helpers.py"] = draw.choice(there)
    way = draw.choice(WAYS)
    if "plan" in way:
        files["plan.toml"] = PLAN.format(helper).replace("'", '"')
    return Case(
        id=f"M{seed}",
        title="several files",
        advice="",
        expectations=(Expectation("*", "declined", frozenset()),),
        arguments=tuple(way.split()),
        python=(3,),
        programs={"orig": files},
    )


@dataclass(slots=True)
class Failed:
    """A project that the tool gets wrong."""

    case: Case
    what: str


def session(first: int, seconds: float, tally: Counter[str]) -> Iterator[Failed]:
    """Check one seed after the other until the time is over.

    How an error's text goes on after the name that it is about is documented: it may suggest a new one.
    """
    end = time.monotonic() + seconds
    seed = first
    while time.monotonic() < end:
        case = case_of(seed)
        try:
            outcome = run_case(case, extract)
        except subprocess.TimeoutExpired:
            tally["too slow for a busy machine"] += 1
            seed += 1
            continue
        tally["projects"] += 1
        match outcome:
            case Wrong(what) if "Did you mean" in what.partition("\n#%")[0]:
                tally["another suggestion"] += 1
            case Wrong(what) | Crashed(what):
                yield Failed(case, what)
            case Unmet(_, helpers) | Kept(helpers):
                tally.update(helper.status for helper in helpers)
                tally["declined"] += not helpers
        seed += 1


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    tally: Counter[str] = Counter()
    wrong = 0
    for failed in session(options.seed, options.seconds, tally):
        wrong += 1
        print(failed.case.id, " ".join(failed.case.arguments), failed.what, sep="\n", flush=True)
        for name, text in failed.case.programs["orig"].items():
            print(f"--- before: {name}\n{text}")
    print(dict(tally), "wrong:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
