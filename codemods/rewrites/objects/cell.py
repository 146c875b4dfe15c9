"""Which variables of an outer function its helpers need to share, and whether an object can hold them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from codemods.equal.objects import Kept as Claim
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Lifting, Need
from codemods.program.scopes import Scope
from codemods.rewrites.naming import fresh_name
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, refuse, refused_by
from codemods.rewrites.rules.assumptions import no_dynamic_names


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


def shared(analysis: Analysis, helper: Helper) -> list[Need]:
    """Variables of the outer function that the helper uses and that are bound more than once."""
    tree = analysis.tree
    found = {(name, owner) for name, owner, _ in helper.reads}
    for (owner, name), statements in tree.declared.items():
        if any(scope.inside(helper.scope) for _, scope in statements):
            found.add((name, owner))
    return [
        (name, owner)
        for name, owner in sorted(found, key=lambda need: need[0])
        if owner is helper.outer
        and len(tree.binders.get((owner, name), ())) > 1
        and analysis.helper_at(owner, name) is None
    ]


def find_boxes(
    analysis: Analysis, helpers: Collection[Helper], accepted: Accepted | None = None
) -> tuple[list[Kept], dict[Helper, Refusal]]:
    """Boxes, one an outer function, and why some helpers can't have one."""
    refused = refused_by(helpers, partial(_problems, analysis), accepted)
    sharing: dict[Scope, dict[Helper, list[Need]]] = {}
    for helper in sorted((h for h in helpers if h not in refused), key=lambda h: h.node.lineno):
        if needs := shared(analysis, helper):
            sharing.setdefault(helper.outer, {})[helper] = needs
    return [_box(analysis, outer, chosen) for outer, chosen in sharing.items()], refused


def _box(analysis: Analysis, outer: Scope, chosen: dict[Helper, list[Need]]) -> Kept:
    tree = analysis.tree
    variables = tuple(dict.fromkeys(name for needs in chosen.values() for name, _ in needs))
    names: dict[tuple[int, int], ast.Name] = {}
    given, declarations = [], dict[ast.Nonlocal, None]()
    for name in variables:
        nodes: list[ast.AST] = [use.node for use in tree.uses.get((outer, name), [])]
        nodes += [binder.node for binder in tree.binders.get((outer, name), [])]
        names |= {(node.lineno, node.col_offset): node for node in nodes if isinstance(node, ast.Name)}
        given += [name for node in nodes if not isinstance(node, ast.Name)]
        for statement, _ in tree.declared.get((outer, name), []):
            if isinstance(statement, ast.Nonlocal):
                declarations[statement] = None
    at, found, gone = own_statements(outer)[0], tuple(names.values()), tuple(declarations)
    return Kept(outer, tuple(chosen), variables, tuple(given), at, found, gone)


def _problems(analysis: Analysis, helper: Helper) -> Refusals:
    """Why a variable can't be an attribute: some code sees it by name, or a read may find it unbound."""
    tree, everywhere = analysis.tree, Lifting(analysis, set(), {})
    needs = shared(analysis, helper)
    yield from no_dynamic_names(analysis, helper, early=False) if needs else ()
    for name, owner in needs:
        flow = analysis.flow(owner)
        binders = tree.binders.get((owner, name), [])
        way_out = "bind the variable first thing in the outer function, and don't delete it"
        deleted = [binder.line for binder in binders if binder.deletes or flow.unbinds(name)]
        unbound = [(line, f"{name} is deleted somewhere") for line in deleted[-1:]]
        reads = [(use.scope, use.node) for use in tree.uses.get((owner, name), []) if use.written]
        for binder in binders:
            if isinstance(tree.parents.get(binder.node), ast.AugAssign) and isinstance(binder.node, ast.Name):
                reads.append((binder.scope, binder.node))
        for scope, node in reads:
            for place in everywhere.places(scope, node, owner):
                if not (flow.knows(place.node) and flow.bound_at(place.node, name)):
                    line = getattr(place.node, "lineno", node.lineno)
                    unbound.append((line, f"{name} may be unbound when line {line} is reached"))
        for line, what in unbound:
            yield refuse("maybe-unbound", line, what, way_out)
