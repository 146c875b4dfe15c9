"""Text that a rewrite does not change stays as it is, wherever it stands."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemods.program.source import parse_source
from codemods.rewrites.text.file import Program
from tests.codemods.conftest import Command, Execute

PLAN = 'version = 1\nsource = "main.py"\nfunction = "train"\n[loop]\nclass = "Run"\nto = "run.py"\n'


def rewritten(text: str, folder: Path, extract: Command, execute: Execute, *arguments: object) -> str:
    """Rewrite a program, which prints the same before and after; its text then."""
    (folder / "pyproject.toml").touch()
    path = folder / "main.py"
    path.write_text(text)
    before = execute(folder, "main.py")
    assert extract(*(arguments or [path]), "--write").code == 0
    assert execute(folder, "main.py") == before
    return path.read_text()


def test_a_block_that_loses_its_only_statement_has_one(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "def outer(n):\n    try:\n        print( n )\n    finally:\n"
        "        def h(x):\n            return x + n\n    return h(1)\nprint(outer(2))\n"
    )
    made = rewritten(text, tmp_path, extract, execute)
    assert "    try:\n        print( n )\n    finally:\n        pass\n    return _h(1, n=n)\n" in made


def test_a_text_below_a_helper_does_not_become_a_docstring(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "def outer(n):\n    def h(x):\n        return x + n\n    'text'\n    return h(1)\n"
        "print(outer(2), outer.__doc__)\n"
    )
    assert "    pass\n    'text'\n" in rewritten(text, tmp_path, extract, execute)


def test_comments_beside_a_helper_stay_in_their_places(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "def outer(n):\n  def h(x):\n    return x + n\n    # the helper's\n  # the loop's\n"
        "  for i in range(3):\n    print( h(i) )\n      # deeper\n    print( i )\n"
        "  return h(1)\nprint(outer(2))\n"
    )
    made = rewritten(text, tmp_path, extract, execute)
    assert "  return x + n\n  # the helper's\n" in made
    assert (
        "  # the loop's\n  for i in range(3):\n    print( _h(i, n=n) )\n      # deeper\n    print( i )\n"
        in made
    )


def test_a_function_in_a_condition_gets_its_helper_there(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "import sys\nif sys:\n    # Its own.\n    def outer(n):\n        def h(x):\n"
        "            return x + n\n        return h(1)\nprint(outer(2))\n"
    )
    made = rewritten(text, tmp_path, extract, execute)
    helper = "    def _h(x, *, n):\n        return x + n\n"
    assert made.startswith(f"import sys\nif sys:\n{helper}    # Its own.\n    def outer(n):\n")


def test_texts_of_several_lines_in_a_loop_stay_as_they_are(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "def train(n):\n    rows = []\n    # about\n    for i in range(n):\n        rows.append(('x'\n"
        "            'y'))\n        rows.append(('''a\n    b\n    ''', 'c\\\n    d'))\n        # last\n"
        "    # after\n    return rows\nprint(train(2))\n"
    )
    (tmp_path / "plan.toml").write_text(PLAN)
    made = rewritten(text, tmp_path, extract, execute, "--plan", tmp_path / "plan.toml")
    assert "    # about\n    Run(" in made
    assert ").run()\n    # after\n    return rows\n" in made
    loop = (
        "            rows.append(('x'\n            'y'))\n"
        "            rows.append(('''a\n    b\n    ''', 'c\\\n    d'))\n            # last\n"
    )
    assert (tmp_path / "run.py").read_text().endswith(loop)


def test_a_helper_is_called_where_patterns_capture_names(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    text = (
        "def outer(k):\n    def h(x):\n        return x + k\n    class Cases:\n        def of(self, data):\n"
        "            match data:\n                case {'a': v, **rest} if rest: return h(v)\n"
        "                case [v, *more] | range(start=v, stop=more): return h(v), more\n"
        "    return Cases()\n"
        "print(outer(1).of([2, 3]), outer(2).of(range(4)), outer(3).of({'a': 5, 'b': 6}))\n"
    )
    assert "if rest: return _h(v, k=k)\n" in rewritten(text, tmp_path, extract, execute)


def test_a_name_that_a_plan_gives_stands_for_nothing_else(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    name = "kept_as_it_is_0"
    move = f'[[move]]\nto = "new.py"\nnames = ["h"]\nrename = {{ h = "{name}" }}\n'
    (tmp_path / "plan.toml").write_text(f'version = 1\nsource = "main.py"\n{move}')
    text = (
        "def outer(n):\n    n = n\n    def h(x):\n        return x + n\n    h(1)\n    return h(2)\n"
        "print(outer(2))\n"
    )
    made = rewritten(text, tmp_path, extract, execute, "--plan", tmp_path / "plan.toml")
    assert f"    n = n\n    {name}(1, n=n)\n    return {name}(2, n=n)\n" in made


ODD = {
    "a space that libcst leaves out": "    try:\n        print(h(1))\n    except TypeError :\n        pass\n",
    "what libcst can't read": "    async def go(f, g):\n        return [await f(h(1))async for i in g]\n",
}


@pytest.mark.parametrize("part", ODD.values(), ids=ODD)
def test_what_libcst_would_write_otherwise_is_refused(part: str, tmp_path: Path, extract: Command) -> None:
    text = f"def outer(n):\n    def h(x):\n        return x + n\n{part}    return h(2)\n"
    (tmp_path / "main.py").write_text(text)
    ran = extract(tmp_path / "main.py", "--write")
    assert (ran.code, ran.err) == (1, "")
    assert "can't be kept as it is written" in ran.out
    assert (tmp_path / "main.py").read_text() == text


AWKWARD = '''\
class C:
    @property
    # of the decorator
    def method(self, n): # its head
        """Text
  of two lines."""
        if n: pass
        elif n > 1:   # a second
            x = """
kept"""; y = 2; z = (
                3,
      )
        elif n > 2: w = 1; v = 2 ;
        else:
            # only a comment, then

            while n: n -= 1
            else: x = 3
                # deeper
        try: x = 1
        except (ValueError, OSError) as é:
            é = 1; raise
        else:
          y = 2

          z = 3
        finally:
            with open("a") as f, open("b") as g: x = "f"
        match n:
            case 1: x = 1
            case {"k": C(v=a), **b} | [a, *b] if a:
                x = 2
                async def inner():
                    async for i in b: await i
                    # last
        return lambda: (yield)
    kept_as_it_is_0'''
TEXTS = {
    "awkward": AWKWARD,
    "form feeds": AWKWARD.replace("\n\n", "\n\f\n"),
    "long": Path(dataclasses.__file__).read_text(),
    "Mac": AWKWARD.replace("\n", "\r"),
    "tabs": AWKWARD.replace("    ", "\t"),
    "Windows": AWKWARD.replace("\n", "\r\n"),
}


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_what_is_read_and_not_changed_is_written_as_it_was(name: str, data: st.DataObject) -> None:
    source = parse_source(TEXTS[name], "a.py")
    statements = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    touched = data.draw(st.lists(st.sampled_from(statements), max_size=5))
    program = Program(source, touched)
    assert program.text() == source.text
