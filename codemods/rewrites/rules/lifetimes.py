"""What sees how long a capture is held."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program import nodes
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.scopes import Scope, ScopeTree, dotted
from codemods.rewrites.refusals import Refusals, refuse

# What counts references, or lists objects.
_COUNTS = ("get_objects", "get_referents", "getrefcount")


def lifetimes_unseen(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing sees how long what the helper is passed is held, or by how many."""
    tree, names = lifting.tree, {name for name, _ in lifting.needs[helper]}
    if not names:
        return
    for line, what in tree.once("lifetimes seen", lambda: list(_seen(tree))):
        yield refuse("lifetimes", line, what)
    for node in nodes.walk(helper.node):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "resize"), keywords=given) if name in names:
                if all(keyword.arg != "refcheck" for keyword in given):
                    yield refuse("lifetimes", node, f"{name}.resize counts references to {name}")
    frame = [scope for scope in helper.scope.ancestors() if scope.kind == "function"][-1]
    for line in tree.once(f"weak references {id(frame)}", lambda: list(_weak_references(tree, frame))):
        yield refuse("lifetimes", line, "a weak reference is made here")
    for line, name in tree.once(f"let go {id(frame)}", lambda: list(_let_go(frame))):
        if name in names and _may_follow(frame, helper, line):
            yield refuse("lifetimes", line, f"{name} is let go here, while an exception may be kept")


def _may_follow(frame: Scope, helper: Helper, line: int) -> bool:
    """Whether a line may run after a call of the helper: it stands below the helper, or in a loop with it."""
    start = helper.node.lineno
    return line > start or any(
        isinstance(node, (ast.For, ast.While)) and node.lineno < line and start <= (node.end_lineno or 0)
        for node in nodes.walk(frame.node)
    )


def _seen(tree: ScopeTree) -> Iterator[tuple[int, str]]:
    """Places of a file that see when objects are destroyed, or how often they are referred to."""
    for name in _COUNTS:
        if name in tree.attributes or name in tree.bound_names:
            yield tree.attributes.get(name, 1), f"{name} is used here"
    for (owner, name), binders in tree.binders.items():
        if name == "__del__" and owner.kind == "class":
            yield binders[0].line, "a class of the file has a __del__"


def _weak_references(tree: ScopeTree, frame: Scope) -> Iterator[int]:
    for node in nodes.walk(frame.node):
        if isinstance(node, ast.Name) and (dotted(tree, frame, node) or "").partition(".")[0] == "weakref":
            yield node.lineno


def _let_go(frame: Scope) -> Iterator[tuple[int, str]]:
    """Names that a function deletes or binds to None, where it names or handles exceptions, with the line."""
    walked = nodes.walk(frame.node)
    named = any(isinstance(node, ast.ExceptHandler) and node.name is not None for node in walked)
    handlers = [node for node in walked if isinstance(node, ast.ExceptHandler)]
    handled = {inner for handler in handlers for inner in nodes.walk(handler)}
    for node in walked:
        match node:
            case ast.Delete(targets) | ast.Assign(targets, ast.Constant(None)) if named or node in handled:
                yield from ((node.lineno, target.id) for target in targets if isinstance(target, ast.Name))
