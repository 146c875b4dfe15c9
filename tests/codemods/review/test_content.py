"""What is worked out by other means than the library's, beside the library's answer."""

import ast
import dis
import inspect
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from codemods.program.nodes import walk
from codemods.review import content, units
from codemods.review.content import Contents, looked_up
from codemods.review.normal import written
from codemods.review.side import Side
from codemods.review.trees import Tree

# So many names that some instructions need a longer argument than one byte.
MANY = "".join(f"a{n} = b{n}\n" for n in range(300))
TEXTS = {
    "a class": "@d(1)\nclass A[T](B, k=c):\n    x: int = None\n"
    if sys.version_info >= (3, 12)
    else "x = None\n",
    "functions": "async def f(a, /, b=1, *c, d=None, **e):\n    async with a as b: return f'{c!r:>{d}}'\n",
    "patterns": "match x:\n    case None | [1, *_]: pass\n    case {'a': b, **c}: pass\n",
    "this test": Path(__file__).read_text("utf-8"),
    "the module": inspect.getsource(content),
    "another module": inspect.getsource(units),
}


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


@pytest.mark.parametrize("name", [*TEXTS, "many"])
def test_names_are_those_of_the_disassembler(name: str) -> None:
    for code in codes(compile(TEXTS.get(name, MANY), name, "exec")):
        told = {
            (ending, found.argval)
            for found in dis.get_instructions(code)
            for ending in ("_GLOBAL", "_NAME")
            if found.opname.replace("_GLOBALS", "_GLOBAL").endswith(ending)
        }
        assert set(looked_up(code)) == told


READS = """
import m
def f(a, b=one, *c, d=two, **e) -> three:
    x: four = five
    def g(y: six = seven) -> eight: return nine
    return [ten for _ in eleven if f(x)], lambda z=twelve: thirteen, m.x
@fourteen
class A(fifteen, metaclass=sixteen):
    name: seventeen = eighteen
    other = [nineteen for _ in name]
    @property
    def h(self, k=name, *, l=twenty) -> twentyone: return __private, super().h, A, self.__own
    class B: inner: twentytwo = name
    def i(self):
        def j(k): return k, f
        class C:
            x: twentythree = x
        return j
def k(q):
    global h
    import n as h
    return [h := 1]
"""


def side_of(text: str) -> Side:
    return Side(Tree({"a.py": ""}, lambda _: text.encode()), ["a.py"], Contents())


@pytest.mark.parametrize("text", [*TEXTS.values(), READS])
def test_names_without_compiling_are_those_of_the_compiler(text: str) -> None:
    for unit in side_of(text).units():
        assert unit.content.reads == set(unit.globals), unit.qualname


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no type parameters before")
def test_a_type_in_a_class_reads_its_names_from_the_module() -> None:
    read = side_of("class A:\n    type T = B\n    def m[X: C](self): pass\n").changed["a.py"].units
    assert "B" in read["A"].globals
    assert "C" in read["A.m"].globals


@pytest.mark.parametrize("name", TEXTS)
def test_nodes_are_those_of_the_library(name: str) -> None:
    tree = ast.parse(TEXTS[name])
    plain = [node for node in ast.walk(tree) if not isinstance(node, ast.Load | ast.Store | ast.Del)]
    assert walk(tree) == plain


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions write trees in other ways")
@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_those_of_the_library(name: str) -> None:
    tree = ast.parse(TEXTS[name])
    assert written(tree) == ast.dump(tree)
