"""What import statements bind."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Import:
    """One imported name: ``from module import name as alias``, or ``import module as alias`` without a
    name.
    """

    module: str
    name: str | None = None
    alias: str | None = None

    @property
    def bound(self) -> str:
        """The name that it binds."""
        return self.alias or self.name or self.module.partition(".")[0]


def imports_of(
    node: ast.Import | ast.ImportFrom, bound: str, absolute: Callable[[int, str | None], str]
) -> list[Import]:
    """The imports of a statement that bind a name."""
    found = []
    for alias in node.names:
        if isinstance(node, ast.Import):
            made = Import(alias.name, None, alias.asname)
        else:
            module = absolute(node.level, node.module) if node.level else node.module or ""
            made = Import(module, alias.name, alias.asname)
        if made.bound == bound:
            found.append(made)
    return found


def resolve_relative(package: str, level: int, module: str | None) -> str:
    """The absolute name of a relative import made in a package."""
    parts = package.split(".")
    base = parts[: len(parts) - level + 1]
    return ".".join([*base, module] if module else base)
