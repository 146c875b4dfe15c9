"""Proof of a whole composition: every lifted definition, and all that is left."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Protocol

from codemods.analysis.decide import Decision
from codemods.analysis.helpers import Helper
from codemods.analysis.scopes import FunctionNode
from codemods.transforms.lift import Names
from codemods.transforms.proof import (
    FUNCTIONS,
    NewCall,
    NotProven,
    absolute,
    drop_statements,
    prove_helper,
    turn_back,
)


class Module(Protocol):
    """A file that helpers were moved to."""

    helpers: list[Helper]
    module: str


def prove_all(
    decision: Decision,
    names: Mapping[Helper, Names],
    rest: ast.Module,
    moved: Mapping[Module, ast.Module],
    package: str | None,
) -> None:
    """Check new trees against the original one. Trees are used up.

    ``moved`` is empty where the lifted functions stand in the rest itself.

    Raises:
        NotProven: if anything differs but the lift.
    """
    passed = {helper: tuple(name for name, _ in decision.lifting.needs[helper]) for helper in decision.lifted}
    counted: dict[Helper, int] = {}
    if moved:
        for module, tree in moved.items():
            _prove_definitions(decision, names, passed, tree, module.helpers, package, counted)
    else:
        _prove_definitions(decision, names, passed, rest, decision.lifted, package, counted)
        lifted = {names[helper].definition for helper in decision.lifted}
        drop_statements(rest, lambda s: isinstance(s, FUNCTIONS) and s.name in lifted)
    _prove_rest(decision, names, passed, rest, {module.module for module in moved}, package, counted)
    for helper in decision.lifted:
        total = len(decision.lifting.analysis.uses(helper))
        if counted.get(helper, 0) != total:
            raise NotProven(
                f"{helper.name}: {counted.get(helper, 0)} of {total} calls were rewritten", helper
            )


def _prove_definitions(
    decision: Decision,
    names: Mapping[Helper, Names],
    passed: Mapping[Helper, tuple[str, ...]],
    tree: ast.Module,
    helpers: list[Helper],
    package: str | None,
    counted: dict[Helper, int],
) -> None:
    """Check the definitions in one module."""
    lifting = decision.lifting
    found: dict[str, list[FunctionNode]] = {}
    top = set(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(node.name, []).append(node)
    for helper in helpers:
        definition = names[helper].definition
        moved = found.get(definition, [])
        moved = [node for node in moved if node in top] or moved
        if len(moved) != 1:
            raise NotProven(f"{definition} is defined {len(moved)} times", helper)
        calls = {
            names[callee].calls[helper]: NewCall(callee, passed[callee])
            for callee, _ in lifting.calls_in(helper)
        }
        own = [name for name, owner in lifting.needs[helper] if owner is lifting.tree.module]
        captures = [name for name, owner in lifting.needs[helper] if owner is not lifting.tree.module]
        inside = lifting.nested(helper)
        count = prove_helper(
            helper, moved[0], calls, captures, own, inside, lifting.tree.source.future_flags, package
        )
        for callee, number in count.items():
            counted[callee] = counted.get(callee, 0) + number


def _prove_rest(
    decision: Decision,
    names: Mapping[Helper, Names],
    passed: Mapping[Helper, tuple[str, ...]],
    rest: ast.Module,
    modules: set[str],
    package: str | None,
    counted: dict[Helper, int],
) -> None:
    """Check that what is left is the original without the helpers, once calls are turned back."""
    source = decision.lifting.tree.source
    places = {(helper.node.lineno, helper.node.col_offset) for helper in decision.lifted}
    old = ast.parse(source.text)
    drop_statements(old, lambda s: isinstance(s, FUNCTIONS) and (s.lineno, s.col_offset) in places)
    calls = {names[helper].calls[None]: NewCall(helper, passed[helper]) for helper in decision.lifted}
    for callee, number in turn_back(rest, calls).items():
        counted[callee] = counted.get(callee, 0) + number
    added = {(names[helper].definition, names[helper].calls[None]) for helper in decision.lifted}
    drop_statements(rest, lambda s: isinstance(s, ast.ImportFrom) and s.module in modules and _only(s, added))
    for tree in (old, rest):
        drop_statements(tree, lambda s: isinstance(s, ast.Pass))
        absolute(tree, package)
    if len(old.body) != len(rest.body):
        raise NotProven("what is left has other statements than before")
    for one, other in zip(old.body, rest.body, strict=True):
        if ast.dump(one) != ast.dump(other):
            raise NotProven(f"line {one.lineno}: what is left of a statement differs")


def _only(statement: ast.ImportFrom, added: set[tuple[str, str]]) -> bool:
    """Whether an import statement brings in nothing but lifted functions."""
    return all((alias.name, alias.asname or alias.name) in added for alias in statement.names)
