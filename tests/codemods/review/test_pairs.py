"""Functions of installed packages in each other's place, and with small mistakes: the same only if they are.

`REVIEW_PAIRS` sets how many of each are looked at.
"""

import ast
import os
import random
import types
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path

import pytest

from codemods.review.report import Lifted, Renamed, Same
from codemods.review.review import review
from codemods.review.trees import Tree

pytestmark = pytest.mark.slow

PACKAGES = ("click", "rich", "jinja2", "libcst", "pydantic", "hypothesis", "grimp", "torch")
COUNT = int(os.environ.get("REVIEW_PAIRS", "150"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def neighbours() -> Iterator[tuple[Function, Function]]:
    """Functions of one block that follow each other, of files chosen by chance."""
    found = [spec.origin for name in PACKAGES if (spec := find_spec(name)) and spec.origin]
    files = sorted(path for origin in found for path in Path(origin).parent.glob("*.py"))
    for path in random.Random(15).sample(files, len(files)):
        tree = ast.parse(path.read_bytes())
        for block in [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]:
            functions = [node for node in block if isinstance(node, Function)]
            yield from pairwise(functions)


def _tree(node: Function) -> Tree:
    text = ast.unparse(ast.Module([node], [])).encode()
    return Tree({"a.py": str(hash(text))}, lambda _: text)


def says_same(before: Function, after: Function) -> bool:
    found = review(_tree(before), _tree(after))
    return found.clean and all(isinstance(outcome, Same | Renamed | Lifted) for outcome in found.outcomes)


def is_same(before: Function, after: Function) -> bool:
    """Is what CPython compiles the same, without annotations and docstrings?"""
    sides = [_parts(_bare(node).body) for node in (before, after)]
    return sides[0] == sides[1]


class _Strip(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.value is None:
            node.annotation = ast.Constant(None)
            return node
        return ast.Assign([node.target], node.value)


def _bare(node: Function) -> ast.Module:
    tree = ast.parse(ast.unparse(ast.Module([node], [])))
    bare: ast.Module = _Strip().visit(tree)
    return ast.fix_missing_locations(bare)


def _parts(body: list[ast.stmt]) -> object:
    code = compile(ast.Module(body, []), "f", "exec", dont_inherit=True)
    return _code(code)


def _code(code: types.CodeType) -> object:
    constants = tuple(
        _code(c) if isinstance(c, types.CodeType) else (type(c), repr(c)) for c in code.co_consts
    )
    variables = code.co_varnames, code.co_cellvars, code.co_freevars, code.co_argcount, code.co_kwonlyargcount
    table = code.co_exceptiontable
    return code.co_code, constants, code.co_names, variables, code.co_flags, code.co_posonlyargcount, table


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Function, Function]]:
    found = list(islice(neighbours(), 4 * COUNT))
    assert len(found) == 4 * COUNT
    return random.Random(16).sample(found, COUNT)


def test_neighbours_are_the_same_only_if_they_are(pairs: list[tuple[Function, Function]]) -> None:
    for before, after in pairs:
        other = ast.parse(ast.unparse(ast.Module([after], []))).body[0]
        assert isinstance(other, Function)
        other.name = before.name
        if says_same(before, other):
            assert is_same(before, other), (ast.unparse(before), ast.unparse(other))


def test_a_function_is_the_same_as_itself(pairs: list[tuple[Function, Function]]) -> None:
    """The test before this one is worth something: what is the same is found to be."""
    for before, _ in pairs[: len(pairs) // 5]:
        again = ast.parse("# moved\n" + ast.unparse(ast.Module([before], []))).body[0]
        assert isinstance(again, Function)
        assert says_same(before, again), ast.unparse(before)


def test_small_mistakes_are_never_the_same(pairs: list[tuple[Function, Function]]) -> None:
    planted = 0
    for index, (before, _) in enumerate(pairs):
        mistaken = _mistaken(before, random.Random(index))
        if mistaken is not None and not is_same(before, mistaken):
            planted += 1
            assert not says_same(before, mistaken), (ast.unparse(before), ast.unparse(mistaken))
    assert planted > len(pairs) // 2


def _mistaken(function: Function, chance: random.Random) -> Function | None:
    """A function with one small mistake; None if the text has no place for the kind that was drawn."""
    tree = ast.parse(ast.unparse(ast.Module([function], [])))
    made = tree.body[0]
    assert isinstance(made, Function)
    changes = [change for node in ast.walk(made) for change in _changes(node)]
    if not changes:
        return None
    kind = chance.choice(sorted({name for name, _, _ in changes}))
    _, node, values = chance.choice([change for change in changes if change[0] == kind])
    for field, value in values.items():
        setattr(node, field, value)
    try:
        compile(ast.fix_missing_locations(tree), "f", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError):
        return None
    return made


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, dict[str, object]]]:
    match node:
        case ast.Constant(value=bool() as value):
            yield "constant", node, {"value": not value}
        case ast.Constant(value=int() | float() as value):
            yield "constant", node, {"value": value + 1}
            yield "type", node, {"value": float(value) if isinstance(value, int) else -value}
        case ast.BinOp(left=left, right=right):
            yield "operands", node, {"left": right, "right": left}
        case ast.Compare(ops=[ast.Lt()]):
            yield "comparison", node, {"ops": [ast.LtE()]}
        case ast.Compare(ops=[ast.Is()]):
            yield "comparison", node, {"ops": [ast.Eq()]}
        case ast.Call(args=[first, second, *rest]):
            yield "arguments", node, {"args": [second, first, *rest]}
        case ast.Call(keywords=[first, second, *more]):
            yield "keywords", node, {"keywords": [second, first, *more]}
        case ast.If(body=body, orelse=[*_, _] as orelse):
            yield "branches", node, {"body": orelse, "orelse": body}
        case ast.BoolOp(values=values):
            yield "and", node, {"values": [*reversed(values)]}
        case ast.Attribute(attr=name):
            yield "attribute", node, {"attr": f"{name}_"}
        case ast.Name(id=name, ctx=ast.Load()):
            yield "name", node, {"id": f"{name}_"}
        case ast.arguments(args=[first, second, *others]):
            yield "parameters", node, {"args": [second, first, *others]}
        case ast.AsyncFunctionDef() | ast.FunctionDef() if node.decorator_list:
            yield "decorator", node, {"decorator_list": node.decorator_list[1:]}
    block = getattr(node, "body", None)
    if isinstance(block, list):
        for at in range(len(block) - 1):
            yield "order", node, {"body": [*block[:at], block[at + 1], block[at], *block[at + 2 :]]}
            yield "dropped", node, {"body": [*block[:at], *block[at + 1 :]]}
