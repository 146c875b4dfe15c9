"""Which variables of an outer function its helpers need to share, and whether an object can hold them."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from codemods.equal.code import FUNCTIONS, place_of
from codemods.equal.objects import MAKER, Kept, Maker
from codemods.program.lifting import Analysis, Helper, Lifting, Need
from codemods.program.scopes import FunctionNode, Scope, dotted
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, refuse, refused_by
from codemods.rewrites.rules.assumptions import no_dynamic_names

Met = Callable[[str], bool]
"""Tells of a new name of the module if another file would get it, or means something by it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An object that keeps variables of an outer function for some of its helpers, by the claim about it;
    ``names`` become its attributes, and ``declarations`` go, as do the annotations of ``annotated``.
    """

    claim: Kept
    outer: FunctionNode
    helpers: tuple[Helper, ...]
    names: tuple[ast.Name, ...]
    annotated: tuple[ast.AnnAssign, ...]
    declarations: tuple[ast.Nonlocal, ...]

    @property
    def at(self) -> ast.stmt:
        """The statement before which it is made."""
        return self.outer.body[self.claim.at]

    @property
    def root(self) -> ast.stmt:
        """The module-level statement that it is in."""
        return self.helpers[0].top


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


def find_cells(
    analysis: Analysis, helpers: Collection[Helper], accepted: Accepted | None = None
) -> tuple[list[Cell], dict[Helper, Refusal]]:
    """Cells, one an outer function, and why some helpers can't have one."""
    refused = refused_by(helpers, partial(_problems, analysis), accepted)
    sharing: dict[Scope, dict[Helper, list[Need]]] = {}
    for helper in sorted((h for h in helpers if h not in refused), key=lambda h: h.node.lineno):
        if needs := shared(analysis, helper):
            sharing.setdefault(helper.outer, {})[helper] = needs
    taken = set[str]()
    return [_cell(analysis, outer, chosen, taken) for outer, chosen in sharing.items()], refused


def _cell(analysis: Analysis, outer: Scope, chosen: dict[Helper, list[Need]], taken: set[str]) -> Cell:
    tree, function = analysis.tree, outer.node
    assert isinstance(function, FUNCTIONS)
    variables = tuple(dict.fromkeys(name for needs in chosen.values() for name, _ in needs))
    names: dict[tuple[int, int], ast.Name] = {}
    given, declarations, annotated = [], dict[ast.Nonlocal, None](), dict[ast.AnnAssign, None]()
    for name in variables:
        nodes: list[ast.AST] = [use.node for use in tree.uses.get((outer, name), [])]
        nodes += [binder.node for binder in tree.binders.get((outer, name), [])]
        annotated |= dict.fromkeys(node for node in nodes if isinstance(node, ast.AnnAssign))
        nodes = [node.target if isinstance(node, ast.AnnAssign) else node for node in nodes]
        names |= {(node.lineno, node.col_offset): node for node in nodes if isinstance(node, ast.Name)}
        given += [name for node in nodes if not isinstance(node, ast.Name)]
        for statement, _ in tree.declared.get((outer, name), []):
            if isinstance(statement, ast.Nonlocal):
                declarations[statement] = None
    claim = Kept(
        place=place_of(function),
        at=int(ast.get_docstring(function) is not None),
        variable=fresh_name(analysis, ["state", "shared", f"{outer.name.strip('_')}_state"], taken),
        given=tuple(given),
        later=tuple(name for name in variables if name not in given),
    )
    return Cell(claim, function, tuple(chosen), tuple(names.values()), tuple(annotated), tuple(declarations))


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


def fresh_name(analysis: Analysis, stems: Sequence[str], taken: set[str]) -> str:
    """The first of some names (then the last, numbered) that means nothing in the file; it is taken now."""
    tree = analysis.tree
    used = tree.names | taken | tree.attributes.keys() | set(dir(builtins))
    numbered = (f"{stems[-1]}_{number}" for number in itertools.count(2))
    name = next(name for name in itertools.chain(stems, numbered) if name not in used)
    taken.add(name)
    return name


def find_maker(analysis: Analysis, roots: Sequence[ast.stmt], met: Met) -> Maker:
    """The name by which objects are made before all of some module-level statements; a new one is not one
    that is ``met`` outside of the file.
    """
    tree = analysis.tree
    module, _, name = MAKER.rpartition(".")
    first = min(root.lineno for root in roots)
    above = {statement for statement in tree.source.tree.body if statement.lineno < first}
    known = dotted(tree, tree.module, ast.Name(name, ast.Load())) == MAKER
    if known and any(binder.node in above for binder in tree.binders[tree.module, name]):
        return Maker(name)
    chosen = fresh_name(analysis, [*([] if met(name) else [name]), f"_{name}"], set())
    return Maker(chosen, f"from {module} import {name}" + (f" as {chosen}" if chosen != name else ""))
