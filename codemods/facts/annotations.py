"""What annotations read."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from codemods.facts.names import dotted
from codemods.facts.nodes import all_arguments
from codemods.facts.scopes import Scope, ScopeTree
from codemods.facts.source import expression_in

_GENERICS = frozenset(["dict", "frozenset", "list", "set", "tuple", "type"])


@dataclass(frozen=True, slots=True)
class Reads:
    """What evaluating expressions reads: globals, and dotted paths where imports tell them.

    Each is told apart by whether its value matters, or only that there is one. ``chains`` are attributes as
    they are written; ``unknown`` those of which no import tells what they are taken from.
    """

    names: dict[str, bool] = field(default_factory=dict)
    chains: dict[str, bool] = field(default_factory=dict)
    paths: dict[str, bool] = field(default_factory=dict)
    unknown: list[ast.Attribute] = field(default_factory=list)

    def add(self, tree: ScopeTree, scope: Scope, node: ast.expr, value: bool = False) -> None:
        """Add what an expression reads; ``value``: something is done with its value."""
        match node:
            case ast.Name(id=name):
                self.names[name] = self.names.get(name, False) or value
                if tree.is_builtin(scope, name):
                    self._path(f"builtins.{name}", value)
            case ast.Attribute(value=taken):
                path = dotted(tree, scope, node)
                if path is None:
                    self.unknown.append(node)
                else:
                    self._path(path, value)
                    self.chains[ast.unparse(node)] = value
                self.add(tree, scope, taken, True)
            case ast.Subscript(value=taken, slice=given):
                self.add(tree, scope, taken, True)
                generic = isinstance(taken, ast.Name) and taken.id in _GENERICS
                self.add(tree, scope, given, not (generic and tree.is_builtin(scope, ast.unparse(taken))))
            case ast.Tuple() | ast.List():
                for element in node.elts:
                    self.add(tree, scope, element, value)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.add(tree, scope, child, True)

    def _path(self, path: str, value: bool) -> None:
        self.paths[path] = self.paths.get(path, False) or value


def stated_by(node: ast.AST) -> list[ast.expr]:
    """The annotations of a function's parameters and result, or of an assignment; none of other nodes."""
    found: list[ast.expr | None] = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found = [*(argument.annotation for argument in all_arguments(node.args)), node.returns]
    elif isinstance(node, ast.AnnAssign):
        found = [node.annotation]
    return [annotation for annotation in found if annotation is not None]


def annotations_in(tree: ast.AST) -> list[ast.expr]:
    """All annotations in a tree."""
    return [annotation for node in ast.walk(tree) for annotation in stated_by(node)]


def plain_names(annotation: ast.expr) -> list[str] | None:
    """The names that an annotation reads; None if a text in it may read others."""
    parts = list(ast.walk(annotation))
    if any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
        return None
    return [part.id for part in parts if isinstance(part, ast.Name)]


def cannot_fail(annotation: ast.expr) -> bool:
    """Whether evaluating an annotation that a rewrite adds does nothing: a text, or a builtin class."""
    match annotation:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in ("bool", "bytes", "float", "int", "str")
    return False


def annotation_names(annotations: Iterable[ast.expr]) -> set[str]:
    """Names that annotations refer to, also from inside string annotations."""
    found: set[str] = set()
    for annotation in annotations:
        for part in ast.walk(annotation):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                inner = expression_in(part.value.strip())
                if inner is not None:
                    found.update(name.id for name in ast.walk(inner) if isinstance(name, ast.Name))
    return found


def quoted_names(annotations: Iterable[ast.expr]) -> set[str]:
    """Names that type checkers and linters read in texts of annotations: not in those of a `Literal`."""
    waiting, found = list[ast.AST](annotations), set[str]()
    while waiting:
        match waiting.pop():
            case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
                continue
            case ast.Constant(value=str()) as text:
                found |= annotation_names([text])
            case node:
                waiting += ast.iter_child_nodes(node)
    return found
