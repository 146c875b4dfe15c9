"""Names of lifted helpers in a new file, where other helpers read globals and call each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.equal.code import NotProven
from codemods.equal.lift import Lifted, Module, prove_lift
from codemods.program.source import parse_source
from codemods.program.walk import read_scopes
from tests.codemods.conftest import Command, Execute

TWO = """\
import math
from math import sqrt

def one(a):
    def {name}(*given):
        return 99 + a
    return {name}(a, 2)

def two(a):
    def other(b):
        class Kept:
            limit = min(b, 1)
            value = limit
        return sqrt(b), math.floor(b), len([b]), max(b, 1), Kept.value
    def calls(b):
        return other(b)
    return calls(a)

print(one(4), two(4))
"""


@pytest.mark.parametrize("name", ["sqrt", "math", "len", "max", "min", "limit", "other", "calls"])
def test_a_helper_hides_nothing_that_the_others_read(
    name: str, tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = TWO.format(name=name)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "main.py").write_text(text)
    before = execute(tmp_path, "main.py")
    assert extract(tmp_path / "main.py", "--to", tmp_path / "new.py", "--write").code == 0
    assert execute(tmp_path, "main.py") == before


@pytest.mark.parametrize(
    ("names", "rename", "message"),
    [
        ('["one_helper", "other"]', 'one_helper = "len"', "the name len is taken in new.py; choose another"),
        (
            '["one_helper", "other"]',
            'one_helper = "math"',
            "the name math is taken in new.py; choose another",
        ),
        ('["one_helper"]', 'one_helper = "class"', "'class' is not a Python name"),
        ('["one", "two"]', 'one = "print"', "the name print is taken in new.py; choose another"),
        ('["one", "two"]', 'one = "class"', "'class' is not a Python name"),
    ],
)
def test_a_plan_renames_nothing_to_what_its_file_reads(
    names: str, rename: str, message: str, tmp_path: Path, extract: Command
) -> None:
    text = (
        "import math\ndef run(a):\n    def one_helper(b):\n        return b\n    def other(b):\n"
        "        return len([b]), math.floor(b)\n    return one_helper(a), other(a)\n"
        "def one(a):\n    return a\ndef two(a):\n    print(a)\n"
    )
    (tmp_path / "main.py").write_text(text)
    plan = f'version = 1\nsource = "main.py"\n[[move]]\nto = "new.py"\nnames = {names}\n'
    (tmp_path / "plan.toml").write_text(f"{plan}rename = {{ {rename} }}\n")
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not (tmp_path / "new.py").exists()


OLD = """\
def one(a):
    def {name}(b):
        return 99 + b
    return {name}(a)
def two(a):
    def other(b{default}):
        return len([b])
    return other(a)
"""
NEW = """\
def {name}(b):
    return 99 + b
def other(b{default}):
    return len([b])
"""
REST = """\
from new import {name} as _one
from new import other as _other
def one(a):
    return _one(a)
def two(a):
    return _other(a)
"""


@pytest.mark.parametrize(("name", "default"), [("len", ""), ("max", "=max(1, 2)")])
def test_the_proof_finds_a_name_that_hides_what_another_helper_reads(name: str, default: str) -> None:
    """No lift writes such a text; a proof that is given one refuses it."""
    texts = [text.format(name=name, default=default) for text in (OLD, NEW, REST)]
    old, new, rest = map(parse_source, texts, ("main.py", "new.py", "main.py"))
    claims = [
        Lifted((2, 4), name, (), {None: "_one"}, "new"),
        Lifted((6, 4), "other", (), {None: "_other"}, "new"),
    ]
    with pytest.raises(NotProven, match=f"{name} would be a lifted function"):
        prove_lift(read_scopes(old), claims, rest, [Module("new", new)], None)
