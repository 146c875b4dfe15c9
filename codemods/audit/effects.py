"""Changes that a function makes to objects that it was given: attributes, elements, mutating calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from codemods.program.nodes import children, root_of
from codemods.program.scopes import Scope, ScopeTree
from codemods.program.words import words

Via = Literal["attribute", "element", "method", "del", "rebinding"]
Of = Literal["capture", "parameter", "global"]

MUTATORS = words("""
    add append appendleft clear discard extend extendleft insert pop popitem popleft put remove reverse
    rotate setdefault sort subtract update write backward eval load_state_dict step train zero_grad
""")
"""Methods of containers, files, modules and optimizers that change their object; others end in ``_``."""


@dataclass(frozen=True, slots=True, order=True)
class Mutation:
    """One change of an object that outlives the call.

    Attributes:
        line: where.
        target: what is changed, as the program spells it (``env_state.seed_opt``, ``scores[]``).
        via: attribute or element stored, deleted, a method known to mutate, or the variable itself rebound.
        name: the variable through which the object is reached.
        of: whose variable that is.
    """

    line: int
    target: str
    via: Via
    name: str
    of: Of


def mutations(tree: ScopeTree, function: Scope) -> tuple[Mutation, ...]:
    """Every such change in a function's text, functions inside it included, in the order of the text.

    Objects that the function makes itself don't count; nor do those only reached through its local aliases.
    """
    found = set(_rebound(tree, function))
    for node, scope in _nodes(tree, function.node, function):
        for target, via in _changed(node):
            root = root_of(target)
            of = _owner(tree, scope, root.id, function) if isinstance(root, ast.Name) else None
            if isinstance(root, ast.Name) and of is not None:
                found.add(Mutation(target.lineno, _spelled(target), via, root.id, of))
    return tuple(sorted(found))


def _rebound(tree: ScopeTree, function: Scope) -> Iterator[Mutation]:
    """Variables outside the function that it declares nonlocal or global, and binds or unbinds."""
    for (owner, name), statements in tree.declared.items():
        if owner.inside(function) or not any(scope.inside(function) for _, scope in statements):
            continue
        of: Of = "global" if owner is tree.module else "capture"
        for binder in tree.binders.get((owner, name), []):
            if binder.scope.inside(function):
                yield Mutation(binder.line, name, "rebinding", name, of)


def _nodes(tree: ScopeTree, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    waiting = [(node, scope)]
    while waiting:
        node, scope = waiting.pop()
        for child in children(node):
            inner = tree.by_node.get(child, scope)
            yield child, inner
            waiting.append((child, inner))


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr, Via]]:
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        stored: Via = "attribute" if isinstance(node, ast.Attribute) else "element"
        yield node, "del" if isinstance(node.ctx, ast.Del) else stored
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in MUTATORS or (name.endswith("_") and not name.startswith("_")):
            yield node.func, "method"


def _spelled(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_spelled(node.value)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return f"{_spelled(node.value)}[]"
    return node.id if isinstance(node, ast.Name) else "?"


def _owner(tree: ScopeTree, scope: Scope, name: str, function: Scope) -> Of | None:
    owner = tree.owner(scope, name)
    if owner is tree.module:
        known = (owner, name) in tree.binders
        return "global" if known else None
    if not owner.inside(function):
        return "capture"
    binders = tree.binders.get((owner, name), [])
    if owner is function and any(isinstance(binder.node, ast.arg) for binder in binders):
        return "parameter"
    return None
