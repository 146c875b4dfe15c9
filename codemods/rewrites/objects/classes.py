"""Small classes whose objects hold variables of a function: what they are called, what they need, and where
their attributes can stand for the variables.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from codemods.equal.objects import Kept as Claim
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.scopes import Scope
from codemods.rewrites.naming import fresh_name


@dataclass(frozen=True, slots=True)
class ClassNames:
    """Names of a class, and of the variable of its object."""

    type_name: str
    variable: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Variables of an outer function that one object keeps for some of its helpers.

    It is made before the statement ``at``, with those of the variables that are ``given`` then; ``names``
    become its attributes, and ``declarations`` go.
    """

    outer: Scope
    helpers: tuple[Helper, ...]
    variables: tuple[str, ...]
    given: tuple[str, ...]
    at: ast.stmt
    names: tuple[ast.Name, ...]
    declarations: tuple[ast.Nonlocal, ...]

    @property
    def root(self) -> ast.stmt:
        """The module-level statement before which its class stands."""
        return self.helpers[0].top

    @property
    def later(self) -> tuple[str, ...]:
        """Variables that have no value yet when it is made."""
        return tuple(name for name in self.variables if name not in self.given)


Objects = Sequence[tuple[Kept, ClassNames]]
"""Objects of one file, with what their classes and variables are called."""


def class_names(analysis: Analysis, outer: Scope, taken: set[str]) -> ClassNames:
    """Names for a class that holds variables of a function."""
    stem = outer.name.strip("_")
    title = "".join(part.capitalize() for part in stem.split("_"))
    variable = fresh_name(analysis, ["state", "shared", f"{stem}_state"], taken)
    return ClassNames(fresh_name(analysis, [f"_{title}State"], taken), variable)


def own_statements(outer: Scope) -> list[ast.stmt]:
    """The statements of a function below its docstring."""
    assert isinstance(outer.node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return outer.node.body[ast.get_docstring(outer.node) is not None :]


def kept_claims(objects: Objects) -> list[Claim]:
    """Claim, for the proof, of every object which variables it keeps, and where it is made."""
    found = []
    for kept, names in objects:
        node = kept.outer.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        found.append(
            Claim(
                place=(node.lineno, node.col_offset),
                at=node.body.index(kept.at),
                type_name=names.type_name,
                variable=names.variable,
                given=kept.given,
                later=kept.later,
            )
        )
    return found
