"""What a file does with namespaces that its own globals may be among: ``globals()``, ``sys.modules``; and the
ways to these, and to the builtins that see variables by name, but their plain names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.program import nodes
from codemods.program.imports import imported_path
from codemods.program.nodes import called_name, head_of
from codemods.program.scopes import ScopeTree, Use, dotted


@dataclass(frozen=True, slots=True)
class Asked:
    """The one name that a namespace is asked for; ``computed``: the text is what the name begins with."""

    text: str
    computed: bool


def sees_given_only(call: ast.Call, allowed: int) -> bool:
    """Whether a builtin of `EVALUATORS` is handed what it looks at."""
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return 0 <= allowed < len(call.args) and not starred


def key_asked(tree: ScopeTree, space: ast.expr) -> ast.expr | None:
    """The one name that a namespace is asked for, if it is only read."""
    parent = tree.parents[space]
    match parent:
        case ast.Subscript(ctx=ast.Load()) if parent.value is space:
            return parent.slice
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]) if left is not space:
            return left
        case ast.Attribute(attr="get"):
            call = tree.parents[parent]
            if isinstance(call, ast.Call) and call.func is parent and call.args:
                return call.args[0]
    return None


def name_asked(tree: ScopeTree, space: ast.expr) -> Asked | None:
    """What name a namespace is asked for, if it is only read and the text tells it or its beginning."""
    key = key_asked(tree, space)
    if isinstance(key, ast.Constant):
        return Asked(str(key.value), False)
    head = head_of(key) if key is not None else ""
    return Asked(head, True) if head else None


def heads(tree: ScopeTree) -> frozenset[str]:
    """Beginnings of names for which the file asks its globals, or anything."""
    return tree.once("heads", lambda: frozenset(_heads(tree)))


def _heads(tree: ScopeTree) -> Iterator[str]:
    for use in tree.uses.get((tree.module, "globals"), ()):
        asked = name_asked(tree, use.call) if use.call is not None else None
        if asked is not None and asked.computed:
            yield asked.text
    for name in ("getattr", "hasattr"):
        for use in tree.uses.get((tree.module, name), ()):
            if use.call is not None and len(use.call.args) > 1 and (head := head_of(use.call.args[1])):
                yield head


def _may_list(tree: ScopeTree, node: ast.AST) -> bool:
    """Whether a use of ``sys.modules`` may list the names of this module: not where it is asked for a module
    that the text names, or for the names of modules.
    """
    parent = tree.parents[node]
    match parent:
        case ast.Compare():
            return False
        case ast.Subscript():
            return isinstance(parent.ctx, ast.Load) and not isinstance(parent.slice, ast.Constant)
        case ast.Attribute(attr="get" | "pop" | "setdefault"):
            call = tree.parents[parent]
            return not (isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant))
    return True


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


def evaluating(tree: ScopeTree) -> Iterator[tuple[str, Use]]:
    """Where the file uses `EVALUATORS` by their names."""
    for name in EVALUATORS:
        if (tree.module, name) not in tree.binders:
            yield from ((name, use) for use in tree.uses.get((tree.module, name), ()))


def reaching(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Where it gets at them, or may list the names of its module, in other ways."""
    return tree.once(
        "reaching",
        lambda: [
            (node, path) for node, path in _reached(tree) if path != "sys.modules" or _may_list(tree, node)
        ],
    )


def _reached(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Attributes, imports and looks by names that only a run tells."""
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
        case ast.Attribute(attr=name):
            # One that sees variables is told of as an attribute where the module is told by an import.
            told = dotted(tree, tree.scope_of(parent), node) in _MODULES
            return (name not in _NAMES and not name.startswith("__")) or (told and name in EVALUATORS)
        case ast.Subscript(slice=ast.Constant(str(name))):
            return name not in _NAMES
        case ast.Call(args=[first, ast.Constant(str(name)), *_]) if first is node:
            return nodes.called_name(parent) in _BY_NAME and name not in _NAMES
    return isinstance(parent, (ast.Compare, ast.Expr))


def asks_itself(node: ast.Call) -> bool:
    """Whether a call is given the file's own name, or opens it: ``import_module(__name__)``."""
    name = called_name(node)
    match node:
        case ast.Call(args=[ast.Name("__name__"), *_]):
            return name in ("__import__", "import_module", "reload", "run_module")
        case ast.Call(args=[ast.Name("__file__"), *_]):
            return name in ("open", "getline", "getlines", "run_path", "FileInput", "input")
        case ast.Call(ast.Attribute(ast.Call(args=given))) if name in ("open", "read_bytes", "read_text"):
            return any(isinstance(argument, ast.Name) and argument.id == "__file__" for argument in given)
    return False
