"""Ways to the builtins that see variables by name, and to the table of modules, but their plain names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.facts import nodes
from codemods.facts.names import dotted, imported_path
from codemods.facts.scopes import ScopeTree

# Builtins that see variables by name, with the number of arguments up to which they do; -1: always.
EVALUATORS = {"locals": 0, "vars": 0, "dir": 0, "eval": 1, "exec": 1, "globals": -1}
_MODULES = ("builtins", "sys")
_NAMES = frozenset([*EVALUATORS, "modules"])
_BUILTINS = frozenset(["__builtin__", "__builtins__", "builtins"])
# Attributes that are the module of the builtins, or its namespace.
_HOLDING = frozenset(["__builtins__", "builtins", "f_builtins"])
_IMPORTING = frozenset(["__import__", "import_module"])
# What takes a module and the name of one of its attributes, by its own last name.
_BY_NAME = frozenset(["delattr", "getattr", "hasattr", "object", "setattr"])


def reached(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Attributes, imports and looks by names that only a run tells, by which the file gets at them."""
    found = list(_attributes(tree))
    for binders in tree.binders.values():
        for binder in binders:
            if isinstance(binder.node, ast.ImportFrom) and binder.node.module in _MODULES:
                for alias in binder.node.names:
                    if alias.name in _NAMES or alias.name == "*":
                        found.append((binder.node, f"{binder.node.module}.{alias.name}"))
    found += [(node, "builtins") for node in _holders(tree) if not _plain(tree, node)]
    return found


def _attributes(tree: ScopeTree) -> Iterator[tuple[ast.AST, str]]:
    if not _NAMES & tree.attributes.keys():
        return
    for node in nodes.walk(tree.source.tree):
        if isinstance(node, ast.Attribute) and node.attr in _NAMES:
            base = dotted(tree, tree.scope_of(node), node.value)
            if base in _MODULES:
                yield node, f"{base}.{node.attr}"


def _holders(tree: ScopeTree) -> Iterator[ast.expr]:
    """Expressions that give the module of the builtins, or its namespace."""
    for (owner, name), uses in tree.uses.items():
        binders = tree.binders.get((owner, name), ())
        implicit = name == "__builtins__" and not binders
        if implicit or any(imported_path(binder.node, name) in _BUILTINS for binder in binders):
            yield from (use.node for use in uses if use.written)
    attributes, named = tree.attributes.keys(), "builtins" in tree.strings
    if not named and not (_HOLDING | {"__self__"}) & attributes:
        return
    for node in nodes.walk(tree.source.tree):
        match node:
            case ast.Attribute(attr="__self__", value=ast.Name(name) as function):
                if tree.is_builtin(tree.scope_of(function), name):
                    yield node
            case ast.Attribute(attr=name) if name in _HOLDING:
                yield node
            case ast.Call(args=[ast.Constant("builtins"), *_]) if nodes.called_name(node) in _IMPORTING:
                yield node
            case ast.Subscript(slice=ast.Constant("builtins")):
                yield node


def _plain(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether the builtins are only asked for one whose name the text tells, and that sees no variables."""
    parent = tree.parents[node]
    match parent:
        case ast.Attribute(attr="__dict__"):
            return _plain(tree, parent)
        case ast.Attribute(attr=name):
            # One that sees variables is told of as an attribute where the module is told by an import.
            told = dotted(tree, tree.scope_of(parent), node) in _MODULES
            return (name not in _NAMES and not name.startswith("__")) or (told and name in EVALUATORS)
        case ast.Subscript(slice=ast.Constant(str(name))):
            return name not in _NAMES
        case ast.Compare() | ast.Expr():
            return True
        case ast.Call(args=[first, ast.Constant(str(name)), *_]) if first is node:
            return nodes.called_name(parent) in _BY_NAME and name not in _NAMES
        case ast.Call(args=[first, *_]) if first is node:
            return nodes.called_name(parent) in ("hasattr", "isinstance", "dir")
    return False
