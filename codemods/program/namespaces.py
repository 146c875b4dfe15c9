"""Where a file asks for names that only a run tells: `globals`, `eval`, `sys.modules`, the builtins."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.scopes import ScopeTree, Use, dotted

# Builtins that see variables by name, with the number of arguments up to which they do; -1: always.
EVALUATORS = {"locals": 0, "vars": 0, "dir": 0, "eval": 1, "exec": 1, "globals": -1}
_MODULES = ("builtins", "sys")
_NAMES = frozenset([*EVALUATORS, "modules"])


def sees_given_only(call: ast.Call, allowed: int) -> bool:
    """Tell whether a builtin of `EVALUATORS` is handed what it looks at."""
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return 0 <= allowed < len(call.args) and not starred


def evaluating(tree: ScopeTree) -> Iterator[tuple[str, Use]]:
    """Where the file uses `EVALUATORS` by their names."""
    for name in EVALUATORS:
        if (tree.module, name) not in tree.binders:
            yield from ((name, use) for use in tree.uses.get((tree.module, name), ()))


def reaching(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Where it gets at them, or may list the names of its module, in other ways."""
    return tree.once("reaching", lambda: list(_reached(tree)))


def _reached(tree: ScopeTree) -> Iterator[tuple[ast.AST, str]]:
    """Attributes of the two modules, what is imported from them, and the builtins as a whole."""
    if not any(word in tree.source.text for word in ("builtins", "modules", "__self__")):
        return
    for node in tree.nodes:
        match node:
            case ast.Attribute(value, attr) if attr in _NAMES:
                base = dotted(tree, tree.scope_of(node), value)
                if base in _MODULES and (attr != "modules" or _may_list(tree, node)):
                    yield node, f"{base}.{attr}"
            case ast.Attribute(ast.Name(name), "__self__") if tree.is_builtin(tree.scope_of(node), name):
                yield node, "builtins"
            case ast.ImportFrom(module=module, names=names) if module in _MODULES:
                for alias in names:
                    if alias.name in _NAMES or alias.name == "*":
                        yield node, f"{module}.{alias.name}"
            case ast.Attribute(attr="__builtins__" | "f_builtins" | "builtins") | ast.Constant("builtins"):
                yield node, "builtins"
            case ast.Name() if node.id == "__builtins__" or _is_whole(tree, node):
                yield node, "builtins"


def _is_whole(tree: ScopeTree, node: ast.Name) -> bool:
    """Tell whether the module of the builtins is used otherwise than to take a name from it."""
    if isinstance(node.ctx, ast.Load) and dotted(tree, tree.scope_of(node), node) == "builtins":
        parent = tree.parents[node]
        return not isinstance(parent, ast.Attribute) or parent.attr.startswith("__")
    return False


def _may_list(tree: ScopeTree, node: ast.AST) -> bool:
    """Tell whether a use of ``sys.modules`` may list the names of this module: not where the text names the
    module in brackets, or where it is asked for the names of modules.
    """
    parent = tree.parents[node]
    match parent:
        case ast.Compare():
            return False
        case ast.Subscript():
            return isinstance(parent.ctx, ast.Load) and not isinstance(parent.slice, ast.Constant)
    return True


def asking(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Places that ask the module for names that only a run tells, from wherever they are, and by what."""
    found: list[tuple[ast.AST, str]] = [
        (use.node, name)
        for name, use in evaluating(tree)
        if (name in ("eval", "exec", "globals") or use.scope.space is tree.module)
        and (use.call is None or not sees_given_only(use.call, EVALUATORS[name]))
    ]
    return found + reaching(tree)
