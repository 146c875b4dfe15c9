"""A rewrite that writes anything else than it should is found out: its helper is refused."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest

from codemods.equal.code import NotProven
from codemods.equal.lift import Lifted, prove_lift
from codemods.equal.loop import Method, prove_loop
from codemods.equal.objects import Kept
from codemods.extract import main
from codemods.plans import compose, loop, rewrites, targets
from codemods.program.source import parse_source
from codemods.program.walk import read_scopes
from codemods.rewrites.loop import rules
from codemods.rewrites.text.file import Program

PLAIN = """
def outer(n, m):
    if n:
        print(m)
    def h(x, y=2, *rest, **more):
        \"\"\"Add up.\"\"\"
        return x + n + y + m
    return h(1, m) + n
"""
VALUE = """
def outer(n):
    if n:
        print(n)
    def h(x, *rest, y=2, **more):
        \"\"\"Add up.\"\"\"
        return x + n + y
    return list(map(h, [1, n]))
"""
SHARED = """
def outer(flag, k):
    n: int = 0
    def h():
        nonlocal n, k
        n += k
        k = n + 1
    h()
    k = n
    return n + k
"""
# The program, how it is lifted, what is written otherwise in the new text: what was there, what stands there.
TAMPERED = [
    (PLAIN, [], "h(1, m, n=n, m=m)", "h(2, m, n=n, m=m)"),
    (PLAIN, [], "h(1, m, n=n, m=m)", "h(1, m, n=n)"),
    (PLAIN, [], "h(1, m, n=n, m=m)", "h(1, m, m=m, n=n)"),
    (PLAIN, [], "h(1, m, n=n, m=m)", "h(1, m, n=m, m=m)"),
    (PLAIN, [], "y=2", "y=3"),
    (PLAIN, [], "*rest, n, m", "*others, n, m"),
    (PLAIN, [], "n, m, **more", "m, **more"),
    (PLAIN, [], "n, m, **more", "n=1, m=2, **more"),
    (PLAIN, [], "Add up.", "Add it up."),
    (PLAIN, [], "return x + n + y + m", "return x + n + m + y"),
    (PLAIN, [], "print(m)", "print(n)"),
    (PLAIN, [], "if n:\n        print(m)\n", ""),
    (PLAIN, [], "def outer(n, m):", "async def outer(n, m):"),
    (VALUE, ["--wrapper", "h"], "_h(x, *rest", "_h(*rest"),
    (VALUE, ["--wrapper", "h"], "y=y", "y=x"),
    (VALUE, ["--wrapper", "h"], "return x + n + y", "return n + x + y"),
    (VALUE, ["--wrapper", "h"], "def _h(x, *rest, y, more", "def _h(x, *rest, y=2, more"),
    (VALUE, ["--wrapper", "h"], "def _h(", "async def _h("),
    (VALUE, ["--wrapper", "h"], "print(n)", "print(h)"),
    (SHARED, ["--cell", "h"], "state.n = 0", "state.m = 0"),
    (SHARED, ["--cell", "h"], "state.n = 0", "n = 0"),
    (SHARED, ["--cell", "h"], "state.n += state.k", "state.n -= state.k"),
    (SHARED, ["--cell", "h"], "state.k = state.n\n", "state.n = state.k\n"),
    (SHARED, ["--cell", "h"], "(k=k)", "(k=flag)"),
    (SHARED, ["--cell", "h"], "    del k\n", ""),
    (SHARED, ["--cell", "h"], "import SimpleNamespace\n", "import MappingProxyType as SimpleNamespace\n"),
    (SHARED, ["--cell", "h"], "import SimpleNamespace\n", "import SimpleNamespace, CellType\n"),
]


def project(folder: Path, text: str, plan: str = "") -> list[str]:
    """Write a program, and a plan for it if there is one; the arguments that rewrite it."""
    (folder / "pyproject.toml").touch()
    (folder / "program.py").write_text(text)
    (folder / "plan.toml").write_text(plan)
    return ["--plan", str(folder / "plan.toml")] if plan else [str(folder / "program.py")]


def codes(*arguments: str) -> dict[str, str | None]:
    """What each helper is refused with, by name, where the rewrite is to be written."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main([*arguments, "--write", "--output-format", "json"])
    return {helper["name"]: helper.get("code") for helper in json.loads(out.getvalue())["helpers"]}


def tamper(patch: pytest.MonkeyPatch, place: Any, name: str, there: str, instead: str) -> None:
    """Have something else written in a text that is made."""
    written = getattr(place, name)

    def tampered(*given: Any) -> str:
        made: str = written(*given)
        assert there in made
        return made.replace(there, instead, 1)

    patch.setattr(place, name, tampered)


@pytest.mark.parametrize(("text", "arguments", "there", "instead"), TAMPERED)
def test_what_else_is_written_is_found_out(
    text: str,
    arguments: list[str],
    there: str,
    instead: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    written = Program.text

    def tampered(program: Program) -> str:
        made = written(program)
        if made == program.source.text:
            return made
        seen.append(there in made)
        return made.replace(there, instead, 1)

    monkeypatch.setattr(Program, "text", tampered)
    assert [*codes(*project(tmp_path, text), *arguments).values()] == ["not-proven"]
    assert any(seen)
    assert (tmp_path / "program.py").read_text() == text


MOVED = """
import math
LIMIT = 2
def scale(x):
    return math.ceil(x) * LIMIT
def outer(n):
    def h(x):
        return math.floor(x) + n
    return h(1.5) + scale(n)
"""
MOVE = """
version = 1
source = "program.py"
[[move]]
to = "parts.py"
names = ["LIMIT", "scale"]
"""
# By a plan or by a lift to a file: what is written otherwise in what is left, or in the new file.
TAMPERED_FILES = [
    ("move", "rest", "from parts import scale\n", ""),
    ("move", "rest", "return h(1.5)", "return h(2.5)"),
    ("move", "target", "import math\n", ""),
    ("move", "target", "LIMIT = 2", "LIMIT = 3"),
    ("lift", "target", "import math\n", ""),
    ("lift", "target", "import math\n", "import cmath\n"),
    ("lift", "target", "import math\n", "import cmath as math\n"),
    ("move", "target", "import math\n", "import cmath as math\n"),
    ("lift", "target", "def h(", "def g("),
]


@pytest.mark.parametrize(("how", "where", "there", "instead"), TAMPERED_FILES)
def test_what_else_is_written_to_files_is_found_out(
    how: str, where: str, there: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: Any = Program if where == "rest" else targets
    tamper(monkeypatch, place, "text" if where == "rest" else "made_module", there, instead)
    if how == "move":
        assert main([*project(tmp_path, MOVED, MOVE), "--write"]) == 2
    else:
        assert main([*project(tmp_path, MOVED), "--to", str(tmp_path / "parts.py"), "--write"]) == 1
    assert (tmp_path / "program.py").read_text() == MOVED
    assert not (tmp_path / "parts.py").exists()


LOOP = """
from math import floor
def train(rows, limit=3):
    total = 0
    scale = limit * 2
    for row in rows:
        if row > scale:
            total += len(str(floor(row)))
    return total
"""
PLAN = """
version = 1
source = "program.py"
function = "train"
[loop]
class = "Trainer"
to = "trainer.py"
"""
# In what is left of the source, or in the new file: what was there, and what stands there.
TAMPERED_LOOPS = [
    ("rest", "total = Trainer(", "scale = Trainer("),
    ("rest", "total = Trainer(", "total = other = Trainer("),
    ("rest", ").run()", ").walk()"),
    ("rest", ").run()", ").run(1)"),
    ("rest", "rows=rows", "rows=total"),
    ("rest", "        total=total,\n", ""),
    ("rest", "setup=Setup(", "setup=Trainer("),
    ("rest", "import Setup, Trainer", "import Setup as Other, Trainer"),
    ("rest", "return total", "return scale"),
    ("rest", "    total = 0\n", ""),
    ("rest", "def train(", "def other("),
    ("rest", "scale = limit * 2", "global scale; scale = limit * 2"),
    ("target", "total += len(str(floor(row)))", "total -= len(str(floor(row)))"),
    ("target", "return total", "return row"),
    ("target", "        return total\n", ""),
    ("target", "    rows: Any\n", ""),
    ("target", "    rows: Any\n", "    rows: Any\n    rows: Any\n"),
    ("target", "    rows: Any\n", "    rows: Any = None\n"),
    ("target", "    rows: Any\n", "    rows: Any\n    more: Any\n"),
    ("target", "total = self.setup.total", "total = self.setup"),
    ("target", "total = self.setup.total", "len = self.setup.total"),
    ("target", "class Trainer", "class Other"),
    ("target", "def run(self)", "def walk(self)"),
    ("target", "def run(self)", "def run(row)"),
    ("target", "    def run", "    @staticmethod\n    def run"),
    ("target", "import Any", "import Any, len"),
    ("target", "import Any\n", "import Any\nlen = print\n"),
    ("target", "import floor\n", "import ceil as floor\n"),
    ("target", "return total", "return total +"),
]


@pytest.mark.parametrize(("where", "there", "instead"), TAMPERED_LOOPS)
def test_what_else_is_written_of_a_loop_is_found_out(
    where: str, there: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "MOST", 2)
    place: Any = loop.Taken if where == "rest" else targets
    tamper(monkeypatch, place, "rest" if where == "rest" else "made_module", there, instead)
    assert [*codes(*project(tmp_path, LOOP, PLAN)).values()] == ["not-proven"]
    assert (tmp_path / "program.py").read_text() == LOOP
    assert not (tmp_path / "trainer.py").exists()


NESTED = """
def outer(n):
    m = n
    def h(x):
        return x + n
    def g(y, n):
        return y + n
    return h(m) + g(1, 2) + n
"""
TWICE = """
def outer(n):
    def h(x):
        return x + n
    def g(n):
        return h(n) + n
    return h(1) + g(2)
"""
# The program, how it is lifted, the claim that is altered, and what is claimed instead.
CLAIMED: list[tuple[str, list[str], str, dict[str, Any]]] = [
    (NESTED, [], "lift", {"place": (1, 0)}),
    (NESTED, [], "lift", {"place": (2, 0)}),
    (NESTED, [], "lift", {"place": (6, 4)}),
    (NESTED, [], "lift", {"definition": "outer"}),
    (NESTED, [], "lift", {"passed": ("m",)}),
    (NESTED, [], "lift", {"passed": ()}),
    (NESTED, [], "lift", {"passed": ("x",)}),
    (NESTED, [], "lift", {"names": {None: "_g"}}),
    (NESTED, [], "lift", {"names": {}}),
    (SHARED, ["--cell", "h"], "objects", {"place": (1, 0)}),
    (SHARED, ["--cell", "h"], "objects", {"place": (4, 4)}),
    (SHARED, ["--cell", "h"], "objects", {"at": 1}),
    (SHARED, ["--cell", "h"], "objects", {"given": (), "later": ("k", "n")}),
    (SHARED, ["--cell", "h"], "objects", {"variable": "flag"}),
    (VALUE, ["--wrapper", "h"], "wrapper", {(2, 0): "_h"}),
    (VALUE, ["--wrapper", "h"], "wrapper", {(5, 4): "h"}),
]


@pytest.mark.parametrize(("text", "arguments", "what", "claimed"), CLAIMED)
def test_a_wrong_claim_is_found_out(
    text: str,
    arguments: list[str],
    what: str,
    claimed: dict[Any, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lift(old: Any, claims: list[Lifted], *given: Any) -> None:
        claims = [dataclasses.replace(claim, **claimed) if claim.place[0] == 4 else claim for claim in claims]
        proven_lift(old, claims, *given)

    def objects(old: Any, new: Any, claims: list[Kept], maker: Any) -> None:
        proven_objects(old, new, [dataclasses.replace(claim, **claimed) for claim in claims], maker)

    proven_lift, proven_objects, proven_wrappers = (
        compose.prove_lift,
        rewrites.prove_objects,
        rewrites.prove_wrappers,
    )
    if what == "lift":
        monkeypatch.setattr(compose, "prove_lift", lift)
    elif what == "objects":
        monkeypatch.setattr(rewrites, "prove_objects", objects)
    else:
        monkeypatch.setattr(
            rewrites, "prove_wrappers", lambda old, new, _: proven_wrappers(old, new, claimed)
        )
    assert codes(*project(tmp_path, text), *arguments)["h"] == "not-proven"


def test_a_parameter_that_hides_a_capture_at_a_call_is_found_out(tmp_path: Path) -> None:
    """The lift refuses it; the proof, given the text that it does not write, finds it, too."""
    path = tmp_path / "program.py"
    path.write_text(TWICE)
    tree = read_scopes(parse_source(TWICE, str(path)))
    lifted = TWICE.replace("    def h(x):\n        return x + n\n", "").replace("h(n)", "_h(n, n=n)")
    lifted = "\ndef _h(x, *, n):\n    return x + n\n" + lifted.replace("h(1)", "_h(1, n=n)")
    claim = Lifted((3, 4), "_h", ("n",), {None: "_h"})
    with pytest.raises(NotProven, match="n is another variable here"):
        prove_lift(tree, [claim], parse_source(lifted, str(path)), (), None)


# What is claimed of the loop's method instead.
CLAIMED_LOOPS: list[dict[str, Any]] = [
    {"place": (1, 0)},
    {"at": 1},
    {"at": 9},
    {"fields": ("rows", "scale")},
    {"returned": ()},
    {"returned": ("scale",)},
    {"passed": frozenset(["scale"])},
    {"groups": {}},
    {"class_name": "Bounds"},
    {"method": "walk"},
    {"module": "other"},
]


@pytest.mark.parametrize("claimed", CLAIMED_LOOPS)
def test_a_wrong_claim_of_a_loop_is_found_out(
    claimed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tampered(old: Any, claim: Method, *given: Any) -> None:
        proven(old, dataclasses.replace(claim, **claimed), *given)

    proven = loop.prove_loop
    monkeypatch.setattr(rules, "MOST", 2)
    monkeypatch.setattr(loop, "prove_loop", tampered)
    assert [*codes(*project(tmp_path, LOOP, PLAN)).values()] == ["not-proven"]
    assert not (tmp_path / "trainer.py").exists()


# What both files leave out, so that they agree with a claim that leaves it out.
LACKING = [
    ({}, "total", "total is read in the loop and not handed in"),
    ({"returned": ()}, "return", "total is read after the loop and not handed back"),
]


@pytest.mark.parametrize(("claimed", "gone", "message"), LACKING)
def test_a_loop_that_lacks_a_value_in_claim_and_text_is_found_out(
    claimed: dict[str, Any], gone: str, message: str
) -> None:
    old = read_scopes(parse_source(_LACKING_OLD, "program.py"))
    rest, target = _LACKING_REST, _LACKING_TARGET
    if gone == "total":
        rest = rest.replace("total=total, ", "")
        target = target.replace("    total: object\n", "").replace("        total = self.total\n", "")
    else:
        rest = rest.replace("total = Trainer", "Trainer")
        target = target.replace("        return total\n", "")
    claim = Method(
        (2, 0), 1, "trainer", "Trainer", "run", ("total", "rows"), frozenset(), "", (), ("total",), {}
    )
    fields = tuple(name for name in claim.fields if gone != name)
    claim = dataclasses.replace(claim, fields=fields, returned=claimed.get("returned", claim.returned))
    with pytest.raises(NotProven, match=message):
        prove_loop(old, claim, parse_source(rest, "program.py"), parse_source(target, "trainer.py"), None)


_LACKING_OLD = """
def train(rows):
    total = 0
    for row in rows:
        total += row
    return total
"""
_LACKING_REST = """
from trainer import Trainer
def train(rows):
    total = 0
    total = Trainer(total=total, rows=rows).run()
    return total
"""
_LACKING_TARGET = """
from dataclasses import dataclass
@dataclass
class Trainer:
    \"\"\"Documented.\"\"\"
    total: object
    rows: object
    def run(self):
        \"\"\"Run.\"\"\"
        total = self.total
        rows = self.rows
        for row in rows:
            total += row
        return total
"""
