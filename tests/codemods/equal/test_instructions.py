"""What the proof takes for equal, and what not, on every version of the interpreter."""

from __future__ import annotations

import ast
import dis
import sys
import types
from pathlib import Path

import pytest

from codemods.equal.code import NotProven, compile_tree, nested_code, same_code
from codemods.equal.instructions import Steps


def inner(program: str, *names: str) -> types.CodeType:
    """The code of a function of a program, by the names that lead to it."""
    code = compile_tree(ast.parse(program), ())
    for name in names:
        code = next(c for c in nested_code(code) if c.co_name == name)
    return code


def pair(body: str, other: str | None = None) -> tuple[types.CodeType, types.CodeType]:
    """A closure h(x) over n and k, and the function of keyword-only n and k that it would become."""
    text = "".join(f"        {line}\n" for line in body.splitlines())
    moved = "".join(f"    {line}\n" for line in (body if other is None else other).splitlines())
    closure = inner(f"def outer(n, k):\n    def h(x):\n{text}        n, k", "outer", "h")
    return closure, inner(f"def h(x, *, n, k):\n{moved}    n, k", "h")


SAME = {
    "reads": "return x + n * k",
    "pairs of reads and writes": "a = n\nb = k\na, b = b, a\nc = a + b + n + k\nreturn [a, b, c, n, k]",
    "comprehension": "return [n + y for y in x if y > k]",
    "nested comprehensions": "return {y: [z + n for z in range(y)] for y in x if k}",
    "comprehension over a capture of the target's name": "return [k for k in k]",
    "generator expression": "return sum(y * n + k for y in x)",
    "inner function": "def g(y=n):\n    return y + k + n + x\nreturn g()",
    "lambda in a comprehension": "return [lambda: y + n for y in x]",
    "generator": "while n > x:\n    yield k\n    x += 1\nyield from x",
    "handlers": "try:\n    return n\nexcept (OSError, k) as e:\n    raise n from e\nfinally:\n    print(k)",
    "with": "with n as m, k:\n    return m",
    "loops": "for y in x:\n    if n:\n        continue\n    if k:\n        break\n    x()\nelse:\n    n()",
    "no condition": "while True:\n    if n is None or (k is not None and x):\n        return k",
    "keywords": "return n(x, *k, key=n, **x)",
    "class": "class C:\n    a = n\n    def m(self):\n        self.b = self.c = k\n        super()\nreturn C",
    "possibly unbound": "if n:\n    a = 1\nreturn a + k",
    "match": "match n:\n    case {'a': [1, *r]} if k:\n        return r\n    case str():\n        return x",
    "f-string": "return f'{n!r:>{k}} {x}'",
    "many variables": "\n".join(f"v{i} = n + {i}" for i in range(300)) + "\nreturn v0 + v299 + k",
    "far jumps": "while n:\n" + "".join(f"    x = x + k * {i}\n" for i in range(300)) + "return x",
}


@pytest.mark.parametrize("name", SAME)
def test_a_closure_and_its_lifted_form_are_the_same(name: str) -> None:
    closure, lifted = pair(SAME[name])
    same_code(closure, lifted, frozenset({"n", "k"}))


DIFFERENT = {
    "another capture": ("return n", "return k"),
    "another order": ("return n + k", "return k + n"),
    "another constant": ("return n + 1", "return n + 2"),
    "a constant of another type": ("return n + 1", "return n + True"),
    "the sign of zero": ("return n * 0.0", "return n * -0.0"),
    "another type in a tuple": ("return n in (1, 2)", "return n in (1.0, 2)"),
    "another set": ("return n in {1, 2}", "return n in {1, 3}"),
    "another attribute": ("return n.a", "return n.b"),
    "a call of a method": ("return n.a", "return n.a()"),
    "another comparison": ("return n < k", "return n <= k"),
    "the other way": ("if n:\n    return x", "if not n:\n    return x"),
    "a test for None": ("return x if n is None else k", "return x if n is not None else k"),
    "a capture written": ("nonlocal n\nn = x", "n = x"),
    "a capture deleted": ("nonlocal n\ndel n", "del n"),
    "a local written": ("a = n\nreturn a", "b = n\nreturn b"),
    "less": ("print(n)\nreturn k", "return k"),
    "another handler": (
        "try:\n    n()\nexcept KeyError:\n    k()",
        "try:\n    n()\nexcept OSError:\n    k()",
    ),
    "outside of the handler": (
        "try:\n    n()\n    k()\nexcept KeyError:\n    x()",
        "try:\n    n()\nexcept KeyError:\n    x()\nk()",
    ),
    "break for continue": (
        "for y in x:\n    if n:\n        break\n    k()",
        "for y in x:\n    if n:\n        continue\n    k()",
    ),
    "the inside of a function": ("return lambda y: y + n", "return lambda y: y + k"),
    "the inside of a comprehension": ("return [y + n for y in x]", "return [y + k for y in x]"),
    "a parameter that nothing reads": ("return lambda y: n", "return lambda z: n"),
    "the kind of parameter": ("return lambda y: n", "return lambda y, /: n"),
    "a default": ("return lambda y=n: k", "return lambda y=k: k"),
    "a generator": ("return n", "return n\nyield"),
    "eager": ("return list(y + n for y in x)", "return list([y + n for y in x])"),
    "a name of the compiler's": ("return n, __class__", "return n, k"),
    "the bases": ("class C(n): pass\nreturn C", "class C(k): pass\nreturn C"),
    "a keyword": ("return n(a=k)", "return n(b=k)"),
    "unpacking": ("a, *b = n\nreturn a", "*a, b = n\nreturn a"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_not_proven(name: str) -> None:
    closure, lifted = pair(*DIFFERENT[name])
    with pytest.raises(NotProven):
        same_code(closure, lifted, frozenset({"n", "k"}))


def test_a_cell_is_not_its_value() -> None:
    """What an inner function is given differs from what a tuple of values holds."""
    given = Steps(inner("def h(n):\n    return lambda: n", "h")).steps
    held = Steps(inner("def h(n):\n    lambda: n\n    return (n,)", "h")).steps
    assert ("LOAD_CLOSURE", "n") in [(step.name, step.argument) for step in given]
    assert ("LOAD_FAST", "n") not in [(step.name, step.argument) for step in given]
    assert ("LOAD_FAST", "n") in [(step.name, step.argument) for step in held]


@pytest.mark.parametrize("module", ["argparse", "dataclasses", "contextlib", "asyncio.tasks"])
def test_instructions_are_those_of_the_disassembler(module: str) -> None:
    """Names, constants and the places that jumps lead to, read without its help."""
    found = __import__(module, fromlist=["_"]).__file__
    waiting = [compile(Path(found).read_text(), module, "exec")]
    for code in waiting:
        waiting += nested_code(code)
        steps = Steps(code).steps
        first = {step.offset: step for step in reversed(steps)}
        where = [step.offset for step in steps]
        start = None
        for item in dis.get_instructions(code):
            start = item.offset if start is None else start
            if item.opname == "EXTENDED_ARG":
                continue
            step, start = first.get(start), None
            if step is None:
                assert item.opname in {"NOP", "CACHE", "MAKE_CELL", "COPY_FREE_VARS"}
            elif item.opcode in dis.hasjrel:
                leads = {where[number] for number in step.follows}
                assert min(offset for offset in where if offset >= item.argval) in leads
            elif item.opcode in dis.hasname:
                assert step.argument[0] == item.argval
            elif item.opcode in (*dis.haslocal, *dis.hasfree):
                both = [s.argument for s in steps if s.offset == step.offset]
                assert both == (list(item.argval) if isinstance(item.argval, tuple) else [item.argval])


@pytest.mark.skipif(sys.version_info < (3, 13), reason="pairs of instructions came with Python 3.13")
def test_pairs_are_taken_apart() -> None:
    code = inner("def h(a, b):\n    c = a + b\n    return c, a, b", "h")
    assert any(item.opname.count("_FAST") == 2 for item in dis.get_instructions(code))
    assert not any(step.name.count("_FAST") == 2 for step in Steps(code).steps)
