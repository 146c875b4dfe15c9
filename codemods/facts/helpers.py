"""The helpers of a file: where they are, what they capture, and when they read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codemods.facts.nodes import all_defaults, children
from codemods.facts.scopes import FunctionNode, Scope, ScopeTree, Use


@dataclass(eq=False, slots=True)
class Helper:
    """A function defined inside another function.

    ``reads`` are its captures' uses in the order of the text; ``kept`` are captures that a function or
    generator inside it reads, perhaps after the helper has returned. ``entry`` is set for a function that
    only a residual calls: captures that it reads before anything else can run, each with whether an unbound
    one fails there in the same way.
    """

    name: str
    node: FunctionNode
    scope: Scope
    outer: Scope
    reads: list[tuple[str, Scope, Use]]
    kept: frozenset[str]
    lazy: bool
    entry: Mapping[str, bool] | None = None

    @property
    def qualname(self) -> str:
        """Names of the scopes around it and its own, joined by dots."""
        return self.scope.qualname

    @property
    def captures(self) -> tuple[str, ...]:
        """Names it reads from enclosing functions, in the order in which it first reads them."""
        return tuple(dict.fromkeys(name for name, _, _ in self.reads))

    @property
    def root(self) -> Scope:
        """The module-level function or class that it lies in."""
        for scope in self.scope.ancestors():
            if scope.parent is not None and scope.parent.kind == "module":
                return scope
        raise AssertionError("a helper outside every function")

    @property
    def top(self) -> ast.stmt:
        """The statement that makes it."""
        assert isinstance(self.root.node, ast.stmt)
        return self.root.node


def find_helpers(tree: ScopeTree) -> list[Helper]:
    """All functions that are defined directly inside another function, in the order of the text."""
    free_uses = _free_uses(tree)
    found = []
    for scope in tree.scopes():
        node, outer = scope.node, scope.parent
        if (
            not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            or outer is None
            or outer.kind != "function"
        ):
            continue
        reads = sorted(free_uses.get(scope, []), key=lambda read: read[2].position)
        found.append(
            Helper(
                name=node.name,
                node=node,
                scope=scope,
                outer=outer,
                reads=reads,
                kept=frozenset(name for name, _, use in reads if is_later(use.scope, scope)),
                lazy=isinstance(node, ast.AsyncFunctionDef) or (tree.yields and is_generator(node)),
            )
        )
    return found


def _free_uses(tree: ScopeTree) -> dict[Scope, list[tuple[str, Scope, Use]]]:
    """For every def scope, the uses in it of names that enclosing functions own."""
    found: dict[Scope, list[tuple[str, Scope, Use]]] = {}
    for (owner, name), uses in tree.uses.items():
        if owner.kind == "module":
            continue
        for use in uses:
            for scope in use.scope.ancestors():
                if owner in (scope, scope.types):
                    break
                if scope.kind == "function":
                    found.setdefault(scope, []).append((name, owner, use))
    return found


def is_later(inner: Scope, outer: Scope) -> bool:
    """Whether code of ``inner`` may run after the call of ``outer``, in which it lies, has returned."""
    return inner.frame() is not outer.frame()


def is_generator(node: FunctionNode) -> bool:
    """Whether calling a function only makes a generator."""
    return any(isinstance(item, (ast.Yield, ast.YieldFrom)) for item in own_nodes(node.body))


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
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
