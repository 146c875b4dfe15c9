"""A rewrite that writes anything else than it should is found out: its helper is refused."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from codemods.extract import main
from codemods.plans import loop, targets
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
    n = 0
    def h():
        nonlocal n, k
        n += k
        k = n + 1
    h()
    k = n
    return n + k
"""
BRANCHES = """
def outer(flag):
    h = abs
    if flag:
        def h(x):
            return x + 1
    return h(flag)
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
    (PLAIN, ["--captures", "context"], "n=n, m=m", "n=m, m=n"),
    (PLAIN, ["--captures", "context"], "context.n", "context.m"),
    (PLAIN, ["--captures", "context"], "context.n", "context.k"),
    (PLAIN, ["--captures", "context"], "context.n + y", "n + y"),
    (PLAIN, ["--captures", "context"], "    m: Any\n", ""),
    (PLAIN, ["--captures", "context"], "print(m)", "print(n)"),
    (PLAIN, ["--captures", "context"], "if n:\n        print(m)\n", "n\n    if n:\n        print(m)\n"),
    (BRANCHES, [], "h = _h", "h = abs"),
    (BRANCHES, [], "h = _h", "flag = _h"),
    (BRANCHES, [], "h = _h", "pass"),
    (VALUE, ["--residual", "h"], "_h(x, *rest", "_h(*rest"),
    (VALUE, ["--residual", "h"], "y=y", "y=x"),
    (VALUE, ["--residual", "h"], "return x + n + y", "return n + x + y"),
    (VALUE, ["--residual", "h"], "def _h(x, *rest, y, more", "def _h(x, *rest, y=2, more"),
    (VALUE, ["--residual", "h"], "def _h(", "async def _h("),
    (VALUE, ["--residual", "h"], "print(n)", "print(h)"),
    (SHARED, ["--box", "h"], "state.n = 0", "state.m = 0"),
    (SHARED, ["--box", "h"], "state.n = 0", "n = 0"),
    (SHARED, ["--box", "h"], "state.n += state.k", "state.n -= state.k"),
    (SHARED, ["--box", "h"], "state.k = state.n\n", "state.n = state.k\n"),
    (SHARED, ["--box", "h"], "(k=k)", "(k=flag)"),
    (SHARED, ["--box", "h"], "    del k\n", ""),
    (SHARED, ["--box", "h"], "slots=True", "frozen=True"),
    (SHARED, ["--box", "h"], "import Any", "import Any, cast"),
]


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
    path = tmp_path / "program.py"
    path.write_text(text)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([str(path), "--write", "--output-format", "json", *arguments]) == 1
    assert any(seen)
    assert [helper["code"] for helper in json.loads(out.getvalue())["helpers"]] == ["not-proven"]
    assert path.read_text() == text


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
    ("lift", "target", "def h(", "def g("),
]


@pytest.mark.parametrize(("how", "where", "there", "instead"), TAMPERED_FILES)
def test_what_else_is_written_to_files_is_found_out(
    how: str, where: str, there: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: Any = Program if where == "rest" else targets
    name = "text" if where == "rest" else "made_module"
    written = getattr(place, name)

    def tampered(*given: Any) -> str:
        made: str = written(*given)
        assert there in made
        return made.replace(there, instead, 1)

    monkeypatch.setattr(place, name, tampered)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "program.py").write_text(MOVED)
    (tmp_path / "plan.toml").write_text(MOVE)
    lift = [str(tmp_path / "program.py"), "--to", str(tmp_path / "parts.py")]
    chosen = ["--plan", str(tmp_path / "plan.toml")] if how == "move" else lift
    assert main([*chosen, "--write"]) == (2 if how == "move" else 1)
    assert (tmp_path / "program.py").read_text() == MOVED
    assert not (tmp_path / "parts.py").exists()


LOOP = """
def train(rows, limit=3):
    total = 0
    scale = limit * 2
    for row in rows:
        if row > scale:
            total += len(str(row))
    return total
"""
PLAN = """
version = 1
source = "program.py"
function = "train"
[loop]
class = "Trainer"
to = "trainer.py"
[loop.state]
Bounds = ["scale", "rows"]
"""
# In what is left of the source, or in the new file: what was there, and what stands there.
TAMPERED_LOOPS = [
    ("rest", "total = Trainer(", "scale = Trainer("),
    ("rest", "total = Trainer(", "total = other = Trainer("),
    ("rest", ").run()", ").walk()"),
    ("rest", ").run()", ").run(1)"),
    ("rest", "rows=rows", "rows=total"),
    ("rest", "        total=total,\n", ""),
    ("rest", "bounds=Bounds(", "bounds=Trainer("),
    ("rest", "import Bounds, Trainer", "import Bounds as Other, Trainer"),
    ("rest", "return total", "return scale"),
    ("rest", "    total = 0\n", ""),
    ("rest", "def train(", "def other("),
    ("rest", "scale = limit * 2", "global scale; scale = limit * 2"),
    ("target", "total += len(str(row))", "total -= len(str(row))"),
    ("target", "return total", "return row"),
    ("target", "        return total\n", ""),
    ("target", "    rows: Any\n", ""),
    ("target", "    rows: Any\n", "    rows: Any\n    rows: Any\n"),
    ("target", "    rows: Any\n", "    rows: Any = None\n"),
    ("target", "    rows: Any\n", "    rows: Any\n    more: Any\n"),
    ("target", "total = self.total", "total = self.bounds"),
    ("target", "total = self.total", "len = self.total"),
    ("target", "class Trainer", "class Other"),
    ("target", "def run(self)", "def walk(self)"),
    ("target", "def run(self)", "def run(row)"),
    ("target", "    def run", "    @staticmethod\n    def run"),
    ("target", "import Any", "import Any, len"),
    ("target", "import Any\n", "import Any\nlen = print\n"),
    ("target", "return total", "return total +"),
]


@pytest.mark.parametrize(("where", "there", "instead"), TAMPERED_LOOPS)
def test_what_else_is_written_of_a_loop_is_found_out(
    where: str, there: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place: Any = loop.Taken if where == "rest" else targets
    name = "rest" if where == "rest" else "made_module"
    written = getattr(place, name)

    def tampered(*given: Any) -> str:
        made: str = written(*given)
        assert there in made
        return made.replace(there, instead, 1)

    monkeypatch.setattr(place, name, tampered)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "program.py").write_text(LOOP)
    (tmp_path / "plan.toml").write_text(PLAN)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["--plan", str(tmp_path / "plan.toml"), "--write", "--output-format", "json"]) == 1
    assert [helper["code"] for helper in json.loads(out.getvalue())["helpers"]] == ["not-proven"]
    assert (tmp_path / "program.py").read_text() == LOOP
    assert not (tmp_path / "trainer.py").exists()
