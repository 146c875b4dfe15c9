"""The nodes of a tree, without what stands in the millions and says nothing: contexts of names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from codemods.program.imports import bound_name
from codemods.program.source import words

ANY_NAME = "*"
"""Stands for a name, or a part of one, that the program text does not tell."""

_ENDS = frozenset([ast.Name, ast.Constant, ast.MatchSingleton])
# Fields that hold no node but a name, a number or a context; lists that may hold something else, too.
_PLAIN = words("""
    arg attr asname conversion ctx id is_async kind level module name rest simple tag type_comment
""")
_MIXED = frozenset(["keys", "kw_defaults", "kwd_attrs", "names"])


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in the order of the text."""
    found: list[ast.AST] = []
    if type(node) in _ENDS:
        return found
    values = node.__dict__
    for name in _FIELDS[type(node)]:
        value = values.get(name)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)] if name in _MIXED else value
        elif value is not None:
            found.append(value)
    return found


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that may hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
        return self[kind]


_FIELDS = _Fields()


# Statements that define a function or a class.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, as `ast.walk` gives them."""
    found = [node]
    for each in found:
        if type(each) not in _ENDS:
            found += children(each)
    return found


class Visitor:
    """Visits nodes by methods named after their kinds, ``do_Name`` and so on; ``other`` visits the rest."""

    def __init__(self) -> None:
        self._methods: dict[type, Callable[[Any], None]] = {type(None): lambda node: None}

    def run(self, *nodes: ast.AST | None) -> None:
        """Visit some nodes, one after another; those that are there."""
        self.each(nodes)

    def each(self, nodes: Sequence[Any]) -> None:
        """Visit as many nodes as there are; deep programs are gone down without a call of C between two."""
        methods = self._methods
        for node in nodes:
            method = methods.get(type(node))
            if method is None:
                method = methods[type(node)] = getattr(self, "do_" + type(node).__name__, self.other)
            method(node)

    def other(self, node: ast.AST) -> None:
        """Visit what is in a node, in the order of its fields."""
        self.each(children(node))


def names_bound(node: ast.AST) -> Iterator[str]:
    """Names that a node binds or unbinds itself, where it stands; not what is in it."""
    match node:
        case ast.Name(id=name) if not isinstance(node.ctx, ast.Load):
            yield name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from map(bound_name, node.names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name


def called_name(call: ast.Call) -> str:
    """The last part of the name of what is called; empty where that has none."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def called(node: ast.expr) -> ast.expr:
    """Return the called expression of a decorator or base that is a call; else the expression itself."""
    return node.func if isinstance(node, ast.Call) else node


def first_of(node: ast.expr) -> ast.expr:
    """Return the expression that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def root_of(node: ast.expr) -> ast.expr:
    """Return the expression that a chain of attributes and elements begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def first_line(node: ast.stmt) -> int:
    """The line on which a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """Parameters in the order in which the compiler visits their annotations."""
    starred, named = arguments.vararg, arguments.kwarg
    found = (*arguments.posonlyargs, *arguments.args, starred, *arguments.kwonlyargs, named)
    return [argument for argument in found if argument is not None]


def all_defaults(arguments: ast.arguments) -> list[ast.expr]:
    """Default values in the order in which they are evaluated."""
    return [default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None]


def own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of a body that run in its own frame, not what functions and generators in it do later."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack.extend([*node.decorator_list, *all_defaults(node.args)])
        elif isinstance(node, ast.Lambda):
            stack.extend(all_defaults(node.args))
        elif isinstance(node, ast.GeneratorExp):
            stack.append(node.generators[0].iter)
        else:
            stack.extend(children(node))
