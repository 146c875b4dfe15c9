"""Which statements are looked at in one row, to find on the other side what moved to another unit."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from codemods.review.content import Function
from codemods.review.statements import Statement
from codemods.review.units import MODULE, Unit

Residue = tuple[Unit, Sequence[Statement]]


def sequences(
    alone: Iterable[Residue], together: Iterable[Residue], other: Collection[str], moved: Collection[str]
) -> list[Sequence[Statement]]:
    """Those of each unit; of units that are looked at `together`, what a module runs itself is one row.

    So the body of a module is found in a function that it became, or the other way round. `other` are first
    lines of functions in functions of the other side, as `Statement.loose` has them. `moved` are variables
    that the modules of one side alone have: what a `global` of theirs means is another thing on the other.
    """
    found: list[Sequence[Statement]] = [statements for _, statements in alone]
    modules: dict[str, dict[object, Statement]] = {}
    for unit, statements in together:
        if unit.kind in ("binding", "statements"):
            own = modules.setdefault(unit.path, {})
            for statement in statements:
                own.setdefault(statement.once, replace(statement, owner=MODULE))
        else:
            found.append(_with_its_name(statements, other))
    rows = (sorted(own.values(), key=lambda statement: statement.first) for own in modules.values())
    return [[each for each in row if not _declares(each, moved)] for row in (*found, *rows)]


def _declares(statement: Statement, names: Collection[str]) -> bool:
    node = statement.node
    return isinstance(node, ast.Global | ast.Nonlocal) and not set(node.names).isdisjoint(names)


def _with_its_name(statements: Sequence[Statement], other: Collection[str]) -> Sequence[Statement]:
    """A function as it would stand in another one, if the other side has one of that name and parameters."""
    if not statements or statements[0].depth or not isinstance(statements[0].node, Function):
        return statements
    named = replace(statements[0], named=True)
    return [named, *statements[1:]] if named.loose in other else statements
