"""Helpers that became functions of their module: proven where every call passes what was captured."""

import contextlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.extract import main as extract
from tests.codemods.hazards.corpus import Case, load
from tests.codemods.review.conftest import Files, Reviewed
from tests.trees import write

REPOSITORY = Path(__file__).resolve().parents[3]
PLAN = REPOSITORY / "codemods" / "plans" / "03_engine.toml"
BEFORE = """
LIMIT = 10
def outer(low, high, log):
    seen = []
    def clip(x, *rest, scale=1):
        log(x)
        if x > LIMIT:
            return clip(x - LIMIT, scale=scale)
        return max(low, min(high, x)) * scale, rest
    seen.append(clip(5, 6))
    seen.append(clip(7, scale=2))
    return seen
"""
REST = """
def outer(low, high, log):
    seen = []
    seen.append({0})
    seen.append({1})
    return seen
"""
BODY = """
    log(x)
    if x > LIMIT:
        return {0}
    return max(low, min(high, x)) * scale, rest
"""


def lifted(signature: str, again: str, first: str, second: str) -> str:
    return f"LIMIT = 10\ndef clip({signature}):{BODY.format(again)}{REST.format(first, second)}"


CASES: dict[str, tuple[Files, Files]] = {
    "by name": (
        {"a.py": BEFORE},
        {
            "a.py": lifted(
                "x, *rest, scale=1, low, high, log",
                "clip(x - LIMIT, scale=scale, low=low, high=high, log=log)",
                "clip(5, 6, low=low, high=high, log=log)",
                "clip(7, scale=2, low=low, high=high, log=log)",
            )
        },
    ),
    "before the other arguments, in another order at each call": (
        {"a.py": BEFORE},
        {
            "a.py": lifted(
                "low, log, x, *rest, high, scale=1",
                "clip(low, log, x - LIMIT, high=high, scale=scale)",
                "clip(low, log, 5, 6, high=high)",
                "clip(low, log, 7, scale=2, high=high)",
            )
        },
    ),
    "to another module, under another name": (
        {"a.py": BEFORE},
        {
            "a.py": "from b import clipped\n"
            + REST.format(
                "clipped(5, 6, low=low, high=high, log=log)",
                "clipped(7, scale=2, low=low, high=high, log=log)",
            ),
            "b.py": "LIMIT = 10\ndef clipped(x, *rest, scale=1, low, high, log):"
            + BODY.format("clipped(x - LIMIT, scale=scale, low=low, high=high, log=log)"),
        },
    ),
    "out of a method": (
        {
            "a.py": "class Model:\n    def step(self, x):\n        def scaled(y):\n"
            "            return y * self.rate\n        return scaled(x)\n"
        },
        {
            "a.py": "def _scaled(y, self):\n    return y * self.rate\nclass Model:\n    def step(self, x):\n"
            "        return _scaled(x, self)\n"
        },
    ),
    "two that call each other": (
        {
            "a.py": "def outer(n):\n    def odd(k):\n        return k and even(k - n)\n    def even(k):\n"
            "        return not k or odd(k - n)\n    return odd(5)\n"
        },
        {
            "a.py": "def _odd(k, n):\n    return k and _even(k - n, n)\ndef _even(k, n):\n"
            "    return not k or _odd(k - n, n)\ndef outer(n):\n    return _odd(5, n)\n"
        },
    ),
}
LOOP = """
def train(model, data, rounds):
    best = steps = 0
    for index in range(rounds):
        for batch in data:
            steps += 1
            best = max(best, model(batch))
    report(best)
    return best, steps
"""
TRAINER = """
from dataclasses import dataclass
from typing import Any
@dataclass(frozen=True)
class Sources:
    data: Any
    model: Any
@dataclass(frozen=True, slots=True)
class Trainer:
    sources: Sources
    best: Any
    steps: Any
    rounds: Any
    def run(self):
        best = self.best
        steps = self.steps
        rounds = self.rounds
        model = self.sources.model
        data = self.sources.data
        for index in range(rounds):
            for batch in data:
                steps += 1
                best = max(best, model(batch))
        return steps, best
"""
CALLER = """
from trainer import Sources, Trainer
def train(model, data, rounds):
    best = steps = 0
    steps, best = Trainer(
        steps=steps, best=best, sources=Sources(model=model, data=data), rounds=rounds
    ).run()
    report(best)
    return best, steps
"""
CASES["a loop to a class"] = ({"a.py": LOOP}, {"a.py": CALLER, "trainer.py": TRAINER})
# The function is called as the method of the class is.
CASES["a loop of run to a class"] = (
    {"a.py": LOOP.replace("def train", "def run")},
    {"a.py": CALLER.replace("def train", "def run"), "trainer.py": TRAINER},
)
CASES["a loop of a function that looks like a test to a class"] = (
    {"test_a.py": LOOP.replace("def train", "def test_a")},
    {"test_a.py": CALLER.replace("def train", "def test_a"), "trainer.py": TRAINER},
)
QUOTED = TRAINER.replace("    data: Any", '    data: "list[Batch]"').replace(
    "    best: Any", '    best: "Metric"'
)
CASES["a loop to a class with quoted annotations"] = ({"a.py": LOOP}, {"a.py": CALLER, "trainer.py": QUOTED})
CASES["a loop to a class, its helper lifted"] = (
    {
        "a.py": "def train(data, rate):\n    seen = []\n    def step(x):\n        seen.append(x * rate)\n"
        "    for x in data:\n        step(x)\n        if x > 3:\n            return seen\n"
    },
    {
        "a.py": "from dataclasses import dataclass\nfrom typing import Any\ndef _step(x, *, seen, rate):\n"
        "    seen.append(x * rate)\n@dataclass\nclass Loop:\n    data: Any\n    seen: Any\n    rate: Any\n"
        "    def run(self):\n        seen = self.seen\n        rate = self.rate\n        data = self.data\n"
        "        for x in data:\n            _step(x, seen=seen, rate=rate)\n            if x > 3:\n"
        "                return seen\ndef train(data, rate):\n    seen = []\n"
        "    return Loop(data=data, seen=seen, rate=rate).run()\n"
    },
)
HANDED = """
try:
    import one
except ImportError:
    pass
import math
"""
HANDING = """
def _step(x, *, seen, rate):
    seen.append(x * rate)
def train(data, rate, later):
    seen = []
    Loop(data=data, seen=seen, rate=rate, later=later, _step=_step, math=math).run()
    print(seen)
"""
HOLDER = """
from dataclasses import dataclass
from typing import Any
@dataclass
class Loop:
    data: Any
    seen: Any
    rate: Any
    later: Any
    _step: Any
    math: Any
    def run(self):
        data = self.data
        seen = self.seen
        rate = self.rate
        later = self.later
        _step = self._step
        math = self.math
        for x in data:
            def late():
                return math.floor(x)
            _step(x, seen=seen, rate=rate)
            later(late)
"""
NESTED = """
def train(data, rate, later):
    seen = []
    def step(x):
        seen.append(x * rate)
    for x in data:
        def late():
            return math.floor(x)
        step(x)
        later(late)
    print(seen)
"""
CASES["a loop to a class, handed a lifted helper, with a function inside that reads a global"] = (
    {"a.py": HANDED + NESTED},
    {"a.py": HANDED + "from loop import Loop\n" + HANDING, "loop.py": HOLDER},
)
EARLIER = "    for index in range(rounds):\n        print(index)\n"
CASES["the second of two loops that begin alike"] = (
    {"a.py": LOOP.replace("    for index", f"{EARLIER}    for index")},
    {"a.py": CALLER.replace("    steps, best = T", f"{EARLIER}    steps, best = T"), "trainer.py": TRAINER},
)
WRONG_HOLDERS = {
    "hands in another function": (HANDING.replace("_step=_step", "_step=print"), HOLDER),
    "calls another": (HANDING, HOLDER.replace("_step(x, seen", "later(x, seen")),
    "passes another variable": (HANDING, HOLDER.replace("rate=rate)", "rate=seen)")),
    "binds it again": (HANDING, HOLDER.replace("later(late)", "_step = later")),
    "takes another field for it": (HANDING, HOLDER.replace("= self._step", "= self.later")),
}
SCORED = LOOP.replace("\ndef", "from config import RATE\ndef score(x): return x * RATE\ndef", 1).replace(
    "model(batch)", "score(model(batch))"
)
SCORING = CALLER.replace("\ndef", "\nfrom config import RATE\ndef score(x): return x * RATE\ndef", 1)
SCORER = TRAINER.replace("model(batch)", "score(model(batch))").replace(
    "        best = self", "        from a import score\n        best = self"
)
BESIDE = {
    "config.py": "RATE = 2\n",
    "b.py": "def score(x): return x\n",
    "c.py": "from a import score\n",
}
CASES["a loop to a class that imports its globals"] = (
    {"a.py": SCORED, **BESIDE},
    {"a.py": SCORING, "trainer.py": SCORER, **BESIDE},
)
IMPORT = "        from a import score\n"
BACK = "        return steps, best"
WRONG_IMPORTS = {
    "of another module": SCORER.replace("from a", "from b"),
    "of a module that has it from the right one": SCORER.replace("from a", "from c"),
    "of a name more": SCORER.replace("import score", "import score, RATE"),
    "of a name twice": SCORER.replace("import score", "import score, score"),
    "under another name": SCORER.replace("import score", "import score as max"),
    "under its own name": SCORER.replace("import score", "import score as score"),
    "after the loop": SCORER.replace(IMPORT, "").replace(BACK, IMPORT + BACK),
    "after a field": SCORER.replace(IMPORT, "").replace(
        "        steps = self.steps\n", "        steps = self.steps\n" + IMPORT
    ),
    "of a name that the function binds": SCORER.replace("import score", "import score, index"),
    "of a name that is a field": SCORER.replace("import score", "import score, best"),
    "of everything": SCORER.replace("import score", "import *"),
    "twice": SCORER.replace(IMPORT, IMPORT + IMPORT),
    "of the module itself": SCORER.replace("from a import score", "import a"),
}
WRONG_SOURCES = {
    "is run as a script": "if __name__ == '__main__':\n    train(len, [], 1)\n",
    "is run by another function": "def main():\n    train(len, [], 1)\nmain()\n",
    "is run by a decorator": "def main(f):\n    train(len, [], 1)\n@main\ndef other(): pass\n",
    "is run for a default": "def other(x=train(len, [], 1)): pass\n",
    "is run by a class": "class Other:\n    x = train(len, [], 1)\n",
    "binds the name again": "def other():\n    global score\n    score = len\n",
}
WRONG_LOOPS = {
    "handed back for each other": (TRAINER.replace("return steps, best", "return best, steps"), CALLER),
    "given for each other": (TRAINER, CALLER.replace("model=model, data=data", "model=data, data=model")),
    "a field that is made each time": (TRAINER.replace("    best: Any\n", "    best: Any = 0\n"), CALLER),
    "a quoted field that is none": (TRAINER.replace("    best: Any", '    best: "ClassVar[int]"'), CALLER),
    "a quoted field that is none, under another name": (
        TRAINER.replace("    best: Any", '    best: "Shared"').replace(
            "import Any", "import Any, ClassVar as Shared"
        ),
        CALLER,
    ),
    "another loop": (TRAINER.replace("max(best", "min(best"), CALLER),
    "more than the loop": (TRAINER.replace("best = self.best", "best = f(self.best)"), CALLER),
    "a field that is left out": (TRAINER.replace("        data = self.sources.data\n", ""), CALLER),
    "a class that compares": (TRAINER.replace("slots=True)", "order=True)"), CALLER),
    "a class with a base": (TRAINER.replace("class Trainer:", "class Trainer(Sources):"), CALLER),
    "a class of another decorator": (TRAINER.replace("from dataclasses import", "from other import"), CALLER),
    "a method that is wrapped": (TRAINER.replace("    def run", "    @wrapped\n    def run"), CALLER),
    "a line after it": (TRAINER.replace("        return", "        f()\n        return"), CALLER),
}
# What is left to read of the corpus's own lifts, and why.
LEFT = {
    "captures collected in an object": {"X82", "A28-final", "P4", "P6"},
    "a closure that forwards to the lifted function": {"A31-residual"},
    "functions that a module or class binds twice": {"X19", "C13"},
    "a name that is bound to lifted functions": {
        "B5",
        "B5-file",
        "B5-plan",
        "B5-other",
        "B6",
        "B6-late",
        "B5-match",
    },
    "a statement that does nothing in the place of one": {"A6-string"},
    "a name that loaders of tests look for": {"E66"},
    "a star import of the program's own files": {f"E{number}" for number in (*range(1, 22), 118, 140)},
    "a package that was not loaded before": {"LD11"},
    "a name that another file replaces where it comes from": {"E141", "E142"},
    "a star import of a module that the tree does not have": {"G25", "R34"},
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_proven(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 0, reviewed.document
    assert "lifted" in reviewed.classes().values()


@pytest.mark.parametrize("case", WRONG_LOOPS)
def test_another_loop_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    trainer, caller = WRONG_LOOPS[case]
    reviewed = compare({"a.py": LOOP}, {"a.py": caller, "trainer.py": trainer})
    assert reviewed.status == 1, reviewed.document


def test_what_is_none_before_a_loop_is_all_that_is_left(compare: Callable[[Files, Files], Reviewed]) -> None:
    setup = "    best = steps = 0\n"
    guarded = f"    if rounds:\n    {setup}"
    first = "    best = None\n    steps = None\n"
    base, head = LOOP.replace(setup, guarded), CALLER.replace(setup, first + guarded)
    reviewed = compare({"a.py": base}, {"a.py": head, "trainer.py": TRAINER})
    assert reviewed.classes()["Trainer.run"] == "lifted"
    assert reviewed.document["left"] == {"before": 0, "after": 2}
    without = compare({"a.py": base}, {"a.py": CALLER.replace(setup, guarded), "trainer.py": TRAINER})
    assert without.classes()["Trainer.run"] == "new"


@pytest.mark.parametrize("case", WRONG_HOLDERS)
def test_a_loop_that_is_handed_a_lifted_helper_and(
    case: str, compare: Callable[[Files, Files], Reviewed]
) -> None:
    handing, holder = WRONG_HOLDERS[case]
    head = {"a.py": HANDED + "from loop import Loop\n" + handing, "loop.py": holder}
    reviewed = compare({"a.py": HANDED + NESTED}, head)
    assert reviewed.status == 1, reviewed.document


@pytest.mark.parametrize("case", WRONG_IMPORTS)
def test_another_import_of_a_loop_is_left_to_read(
    case: str, compare: Callable[[Files, Files], Reviewed]
) -> None:
    head = {"a.py": SCORING, "trainer.py": WRONG_IMPORTS[case], **BESIDE}
    reviewed = compare({"a.py": SCORED, **BESIDE}, head)
    assert reviewed.status == 1, reviewed.document


@pytest.mark.parametrize("case", WRONG_SOURCES)
def test_a_loop_does_not_import_from_what(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    base, head = SCORED + WRONG_SOURCES[case], SCORING + WRONG_SOURCES[case]
    reviewed = compare({"a.py": base, **BESIDE}, {"a.py": head, "trainer.py": SCORER, **BESIDE})
    assert reviewed.status == 1, reviewed.document


def test_a_loop_does_not_import_what_means_something_else(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    other = SCORING.replace("x * RATE", "x + RATE")
    reviewed = compare({"a.py": SCORED, **BESIDE}, {"a.py": other, "trainer.py": SCORER, **BESIDE})
    assert reviewed.status == 1, reviewed.document


def test_what_is_no_lift_says_why(compare: Callable[[Files, Files], Reviewed]) -> None:
    before = "def outer():\n    n = 1\n    def h(): return n\n    later = h\n    n = 2\n    return later()\n"
    after = "def h(n): return n\ndef outer():\n    n = 1\n    later = h\n    n = 2\n    return later(n)\n"
    [refused] = compare({"a.py": before}, {"a.py": after}).document["not_lifted"]
    assert (refused["qualname"], refused["line"]) == ("outer.h", 4)
    assert refused["reason"]


def test_a_changed_line_of_a_lifted_helper_is_all_that_is_left(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    before, after = (files["a.py"] for files in CASES["by name"])
    reviewed = compare({"a.py": before}, {"a.py": after.replace("max(low", "min(low")})
    assert reviewed.classes() == {"LIMIT": "same", "outer": "lifted", "clip": "changed"}
    assert reviewed.left("gone") == {("a.py", 9)}
    assert len(reviewed.left("new")) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in load() if sys.version_info >= case.python], ids=lambda c: c.id
)
def test_the_corpus_against_its_lifts(
    case: Case, tmp_path: Path, compare: Callable[[Files, Files], Reviewed]
) -> None:
    original = {name: text for name, text in case.programs["orig"].items() if name.endswith(".py")}
    folder = write(tmp_path / "lifted", case.programs["orig"])
    told = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        status = extract([*case.arguments, "--write", "--output-format", "json"])
    if status not in (0, 1) or all(
        row["status"] != "lifted" for row in json.loads(told.getvalue())["helpers"]
    ):
        return
    reviewed = compare(
        original, {p.relative_to(folder).as_posix(): p.read_text("utf-8") for p in folder.rglob("*.py")}
    )
    if case.id not in set().union(*LEFT.values()):
        assert reviewed.status == 0, reviewed.document
