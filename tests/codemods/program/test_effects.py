"""Statements are made up and executed among spies: whatever did something was said to."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import functools
import math
import typing
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemods.program.effects import Definition, Effect, Effects
from codemods.program.source import words

SPIES = ("a", "b", "deco")
MODULES = {
    "math": math,
    "typing": typing,
    "enum": enum,
    "functools": functools,
    "dataclasses": dataclasses,
}
_OPERATORS = words("""
    __abs__ __add__ __and__ __bool__ __bytes__ __call__ __ceil__ __complex__ __contains__ __delattr__
    __delete__ __delitem__ __dir__ __divmod__ __enter__ __eq__ __exit__ __float__ __floor__ __floordiv__
    __format__ __ge__ __get__ __getattribute__ __getitem__ __gt__ __hash__ __iadd__ __iand__ __imul__
    __index__ __instancecheck__ __int__ __invert__ __ior__ __isub__ __iter__ __le__ __len__ __lshift__
    __lt__ __matmul__ __mod__ __mro_entries__ __mul__ __ne__ __neg__ __next__ __or__ __pos__ __pow__
    __radd__ __rand__ __repr__ __reversed__ __rmul__ __ror__ __round__ __rsub__ __set__ __set_name__
    __setattr__ __setitem__ __str__ __sub__ __truediv__ __xor__
""")
PRELUDE = """
class Quiet:
    pass
class Loud:
    def __init_subclass__(cls):
        note("__init_subclass__")
class Below(Loud):
    pass
class Meta(type):
    def __init__(cls, *given):
        note("__init__")
class Made(metaclass=Meta):
    pass
def function():
    note("function")
"""


def a_spy(seen: list[str]) -> object:
    """An object of which every operation is recorded, and fails."""

    def recording(name: str) -> object:
        def method(self: object, *given: object, **named: object) -> object:
            seen.append(name)
            raise ZeroDivisionError(name)

        return method

    return type("Spy", (), {name: recording(name) for name in _OPERATORS})()


def meaning(node: ast.expr) -> str | Definition | None:
    """What the names of a made-up statement stand for."""
    if isinstance(node, ast.Attribute):
        base = meaning(node.value)
        return f"{base}.{node.attr}" if isinstance(base, str) and base in MODULES else None
    if isinstance(node, ast.Name):
        for known in ast.parse(PRELUDE).body:
            if isinstance(known, Definition) and known.name == node.id:
                return known
        if node.id in MODULES or (hasattr(builtins, node.id) and node.id not in SPIES):
            return node.id
    return None


def did(text: str) -> Effect:
    """What running a statement does."""
    seen: list[str] = []
    namespace: dict[str, object] = {"__name__": "made_up", "note": seen.append, **MODULES}
    exec(PRELUDE, namespace)
    seen.clear()
    namespace |= {name: a_spy(seen) for name in SPIES}
    try:
        exec(compile(text, "made_up.py", "exec", dont_inherit=True), namespace)
    except Exception:
        return Effect.RUNS if seen else Effect.RAISES
    return Effect.RUNS if seen else Effect.NONE


def indented(body: list[str]) -> str:
    """Statements as a block."""
    return "\n".join("    " + line for text in body for line in text.splitlines())


names = st.sampled_from([*SPIES, "Quiet", "Loud", "Below", "function", "int", "list", "str", "missing"])
known = st.sampled_from(["math.pi", "typing.Any", "int", "list[int]", "dict[str, a]", "typing.List[int]"])
constants = st.sampled_from(["1", "0", "2.5", "'t'", "b'u'", "None", "True", "...", "()", "[]", "{}", "-1"])
makers = st.sampled_from(
    [
        *("dict", "float", "iter", "len", "list", "max", "property", "set", "sorted", "staticmethod", "str"),
        *("sum", "tuple", "dataclasses.field", "functools.partial", "math.sqrt", "typing.TypeVar"),
        *("typing.cast", *SPIES),
    ]
)
operators = st.sampled_from(
    [
        *("+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "<<", "==", "!=", "<", ">", "is", "is not"),
        *("in", "not in", "and", "or"),
    ]
)


def composed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger expressions of smaller ones."""
    few = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds("({} {} {})".format, inner, operators, inner),
        st.builds("({} {})".format, st.sampled_from(["not", "-", "~", "+"]), inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds(lambda parts: f"({''.join(p + ', ' for p in parts)})", few),
        st.builds(lambda parts: f"[{', '.join(parts)}]", few),
        st.builds(lambda parts: f"{{{', '.join(parts)}}}", st.lists(inner, min_size=1, max_size=3)),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("[*{}]".format, inner),
        st.builds("{{**{}}}".format, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("({}).real".format, inner),
        st.builds("({}).upper()".format, inner),
        st.builds(lambda maker, parts: f"{maker}({', '.join(parts)})", makers, few),
        st.builds("{}(key={})".format, makers, inner),
        st.builds("(lambda x={}: b.c)".format, inner),
        st.builds("f'{{{}}}'".format, inner.filter(lambda text: "'" not in text and "{" not in text)),
        st.builds("[{} for x in {}]".format, st.one_of(inner, st.just("x")), inner),
        st.builds("{{x for x in {}}}".format, inner),
        st.builds("(x for x in {})".format, inner),
    )


expressions = st.recursive(st.one_of(constants, names, known), composed, max_leaves=5)
decorators = st.sampled_from(
    [
        *("", "@dataclasses.dataclass\n", "@deco\n", "@enum.unique\n", "@function\n", "@functools.cache\n"),
        *("@functools.lru_cache(maxsize=1)\n", "@functools.wraps(a)\n", "@property\n", "@staticmethod\n"),
    ]
)
simple = st.one_of(
    expressions,
    st.builds("x = {}".format, expressions),
    st.builds("x = y = {}".format, expressions),
    st.builds("x, y = {}".format, expressions),
    st.builds("x: {} = {}".format, expressions, expressions),
    st.builds("x: {}".format, expressions),
    st.builds("a.x = {}".format, expressions),
    st.builds("a[{}] = 1".format, expressions),
    st.builds("a += {}".format, expressions),
    st.builds("del {}".format, st.sampled_from(["missing", "a", "a.x", "a[0]"])),
    st.builds("assert {}, {}".format, expressions, expressions),
    st.builds("raise {}".format, st.one_of(expressions, st.just("NameError('t')"), st.just("ValueError"))),
    st.builds(
        "{}def f(x={}, *, y: {} = 1) -> {}: a.b".format, decorators, expressions, expressions, expressions
    ),
    st.sampled_from(["pass", "global z", "'text'", "import math", "__slots__ = ('x',)", "__hash__ = None"]),
)
bases = st.sampled_from(
    [
        *("", "(Below)", "(Exception)", "(Loud)", "(Quiet)", "(Quiet, key=1)", "(a)", "(enum.Enum)", "(int)"),
        *("(list[int])", "(metaclass=a)", "(metaclass=type)", "(typing.Generic[typing.Any])"),
        *("(typing.NamedTuple)", "(metaclass=Meta)", "(Made)"),
    ]
)


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Statements of smaller ones."""
    body = st.lists(inner, min_size=1, max_size=3).map(indented)
    return st.one_of(
        st.builds("if {}:\n{}\nelse:\n{}".format, expressions, body, body),
        st.builds("for x in {}:\n{}".format, expressions, body),
        st.builds("with {}:\n{}".format, expressions, body),
        st.builds("try:\n{}\nexcept {}:\n{}".format, body, names, body),
        st.builds("{}class C{}:\n{}".format, decorators, bases, body),
        st.builds(
            "{}class C(enum.Enum):\n{}\n    def {}(self): b.c".format,
            decorators,
            body,
            st.sampled_from(["m", "__init__"]),
        ),
        st.builds(
            "class C:\n    @property\n    def x(self): ...\n    @{}.setter\n    def x(self): ...".format,
            st.sampled_from(["x", "a"]),
        ),
    )


statements = st.recursive(simple, blocks, max_leaves=4)


def parsed(text: str) -> Iterator[ast.stmt]:
    """The statement, if it is one."""
    try:
        compile(text, "made_up.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    yield from ast.parse(text).body


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=500, deadline=None)
@given(statements)
def test_whatever_does_something_was_said_to(text: str) -> None:
    for statement in parsed(text):
        assert did(text) <= Effects(meaning).of(statement), text


QUIET = """
X = 1
X = (1, -2)
X = {"a": [1, 2]}
def f(x=[]): g()
class C: x = 1
if True: X = 1
X = lambda: g()
from __future__ import annotations
"doc"
"""
READS = r"""
X = Quiet
X: int = 1
X = "a".upper()
X = 60 * 60 * 24
X = math.sqrt(2) * 3
X = list[int]
X: int | None = None
class C(Exception): x: int
assert True
@functools.cache\ndef f(): a()
"""
ACTS = r"""
X = a + b
X = a[0]
X = a.b
X = f"{a}"
X = not a
X = {a: 1}
assert a
import os
class C(a): pass
class C: x = a
@deco\ndef f(): pass
def f(x=g()): pass
X += 1
while True: break
"""


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        (line.replace("\\n", "\n"), effect)
        for effect, texts in ((Effect.NONE, QUIET), (Effect.RAISES, READS), (Effect.RUNS, ACTS))
        for line in texts.strip().splitlines()
    ],
)
def test_a_plain_statement_is_told_from_one_that_acts(text: str, effect: Effect) -> None:
    [statement] = ast.parse(text).body
    assert Effects(meaning).of(statement) is effect


def test_annotations_that_are_not_evaluated_do_nothing() -> None:
    [statement] = ast.parse("x: a[0] = 1").body
    assert Effects(meaning).of(statement) is Effect.RUNS
    assert Effects(meaning, lazy=True).of(statement) is Effect.NONE
