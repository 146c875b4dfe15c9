"""Generated functions with setup, loop and tail do the same after ``[loop]``, or are refused."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from codemods.extract import main
from tests.codemods.plans.test_loop import PLAN, behaviour, no_bytecode, write

pytestmark = pytest.mark.slow

assert no_bytecode

NAMES = st.sampled_from(["a", "b", "c", "n", "G"])
ATOMS = st.one_of(
    NAMES, st.integers(0, 3).map(str), st.sampled_from(["len(fs)", "same(a)", "K", "print(b)", "fs[-1]()"])
)
Lines = list[str]


def indented(lines: Lines) -> Lines:
    """A block one level deeper."""
    return ["    " + line for line in lines]


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """An expression over the few names."""
    one, two, name = draw(ATOMS), draw(ATOMS), draw(NAMES)
    return draw(
        st.sampled_from(
            [
                one,
                f"{one} + {two}",
                f"({one} if {two} else {name})",
                f"sum([{name} for {name} in range(3)])",
                f"[{one} for x in range(2) if ({name} := x)][-1]",
                f"max(x + {one} for x in range(2))",
                f"(lambda: {one})()",
            ]
        )
    )


@st.composite
def simple(draw: st.DrawFn) -> Lines:
    """A statement on one line, or a small function."""
    name, value = draw(NAMES), draw(expressions())
    return draw(
        st.sampled_from(
            [
                [f"{name} = {value}"],
                [f"{name} = {value}"],
                [f"{name} = {value}"],
                [f"{name} += 1"],
                [f"print({value})"],
                [f"print({value})"],
                [f"del {name}"],
                [f"{name}: int"],
                [f"fs.append(lambda: {value})"],
                [f"fs.append((x for x in [1] if {name}).__next__)"],
                [f"def f(x={value}):", f"    return {name}", "fs.append(f)"],
                ["def f():", f"    nonlocal {name}", f"    {name} = {value}", "fs.append(f)"],
                ["def f():", f"    global {name}", f"    return {name}", "fs.append(f)"],
                [f"import math as {name}"],
                ["fs.append(fs.pop())"],
                ["break"],
                ["continue"],
                [f"return {value}"],
                [f"raise ValueError({value})"],
                ["pass"],
            ]
        )
    )


def compound(blocks: st.SearchStrategy[Lines]) -> st.SearchStrategy[Lines]:
    """Statements around blocks."""
    joined = st.lists(blocks, min_size=1, max_size=3).map(lambda parts: sum(parts, Lines()))

    @st.composite
    def build(draw: st.DrawFn) -> Lines:
        one, two = indented(draw(joined)), indented(draw(joined))
        test, name = draw(expressions()), draw(NAMES)
        return draw(
            st.sampled_from(
                [
                    [f"if {test}:", *one],
                    [f"if {test}:", *one, "else:", *two],
                    [f"for {name} in range(2):", *one],
                    [f"for {name} in range(2):", *one, "else:", *two],
                    ["try:", *one, f"except Exception as {name}:", *two],
                    ["try:", *one, "finally:", *two],
                    [f"with Swallow() as {name}:", *one],
                ]
            )
        )

    return build()


STATEMENTS = st.recursive(simple(), compound, max_leaves=6)
BLOCKS = st.lists(STATEMENTS, max_size=4).map(lambda parts: sum(parts, Lines()))

HEAD = """\
from contextlib import suppress as hide
K = 7
G = 1


def same(x):
    return x


class Swallow:
    def __enter__(self):
        return 1
    def __exit__(self, kind, value, trace):
        return kind is ValueError


def train(n, a=1):
    fs = [lambda: 5]
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A module with a function ``train`` whose setup and tail have no loop of their own."""
    setup, tail = draw(BLOCKS), draw(BLOCKS)
    body = indented(draw(BLOCKS)) or ["    pass"]
    name = draw(NAMES)
    head = draw(
        st.sampled_from(
            [
                [f"for {name} in range(n):"],
                ["t = 3", "while t > 0:", "    t -= 1"],
                [f"for {name} in range(2):"],
            ]
        )
    )
    around = draw(st.sampled_from([[], [], [], ["try:"], ["with Swallow() as b, hide(KeyError):"]]))
    loop = [*head, *body]
    if around:
        loop = [*around, *indented(loop)]
    if around == ["try:"]:
        loop += ["except ZeroDivisionError:", "    print('never')"]
    end = draw(st.sampled_from([["return a"], ["return len(fs), n"], ["return [f() for f in fs]"], []]))
    return HEAD + "\n".join(indented([*setup, *loop, *tail, *end])) + "\n"


def compiles(program: str) -> bool:
    """Whether the generator made a valid program."""
    try:
        compile(program, "program", "exec")
    except SyntaxError:
        return False
    return True


def check(program: str) -> str:
    """Carry the plan out and compare; what became of the program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, program, PLAN)
        before = behaviour(folder, range(4))
        plan = ["--plan", str(folder / "plan.toml"), "--write", "--quiet"]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = main(plan)
        if "several statements" in said.getvalue():
            write(folder, program, PLAN + "at = 2\n")
            code = main(plan)
        if code == 0:
            assert behaviour(folder, range(4)) == before, program
        else:
            assert (folder / "program.py").read_text() == program
        return ["carried out", "refused", "unusable"][code]


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(programs().filter(compiles))
def test_the_program_does_the_same_or_is_refused(program: str) -> None:
    event(check(program))
