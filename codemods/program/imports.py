"""Names that import statements bind."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Import:
    """One imported name: ``from module import name as alias``, or ``import module as alias`` without a
    name.
    """

    module: str
    name: str | None = None
    alias: str | None = None

    @classmethod
    def under(cls, module: str, name: str, local: str) -> Import:
        """A name of a module, imported under a name that may be its own."""
        return cls(module, name, None if local == name else local)

    @property
    def bound(self) -> str:
        """The name that it binds."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def path(self) -> str:
        """The dotted path of what that name stands for."""
        if self.name is not None:
            return f"{self.module}.{self.name}"
        return self.module if self.alias else self.bound


def bound_name(alias: ast.alias) -> str:
    """The name that one alias of an import statement binds."""
    return alias.asname or alias.name.partition(".")[0]


def imported_path(node: ast.AST, name: str) -> str | None:
    """The dotted path that an import statement binds to a name, a relative one with its dots."""
    made = imports_of(node, name, "") if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return made[0].path if made else None


def with_packages(module: str) -> list[str]:
    """A module after the packages that it is in, the outermost first."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def imports_in(node: ast.Import | ast.ImportFrom, package: str) -> list[Import]:
    """List the imports of a statement of a file in a package."""
    if isinstance(node, ast.Import):
        return [Import(alias.name, None, alias.asname) for alias in node.names]
    module = imported_module(node, package)
    return [Import(module, alias.name, alias.asname) for alias in node.names]


def imports_of(node: ast.Import | ast.ImportFrom, bound: str, package: str) -> list[Import]:
    """The imports of a statement that bind a name."""
    return [made for made in imports_in(node, package) if made.bound == bound]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a file of a package imports from it: relatively, up to so many dots; none: absolutely."""

    package: str = ""
    dots: int = 0

    def spelled(self, module: str) -> str:
        """A module as an import statement of the file names it."""
        own, wanted = self.package.split("."), module.split(".")
        for dots in range(1, min(self.dots, len(own)) + 1 if self.package else 0):
            base = own[: len(own) - dots + 1]
            if wanted[: len(base)] == base:
                return "." * dots + ".".join(wanted[len(base) :])
        return module


def manner_of(tree: ast.Module, package: str) -> Manner:
    """How a file imports from its package: relatively, if it does and nothing of it absolutely."""
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    dots = max((node.level for node in found), default=0)
    sibling = f"{package}."
    if any(not n.level and f"{n.module}.".startswith(sibling) for n in found):
        return Manner(package)
    return Manner(package, dots)


def imported_module(node: ast.ImportFrom, package: str) -> str:
    """The module that a ``from`` import names, a relative one resolved against the file's package.

    Outside of a package, a relative one keeps its dots.
    """
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: max(0, len(parts) - node.level + 1)] if package else [""] * node.level
    return ".".join([*base, node.module] if node.module else base)


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that a ``from`` import names; outside of a package, as if that were the package's folder."""
    return imported_module(node, package).lstrip(".")
