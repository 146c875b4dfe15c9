"""What a definition evaluates at every call of the outer function must be there, and the same, each time.

Once the helper is lifted it is evaluated once, when the module is loaded.
"""

from __future__ import annotations

import ast

from codemods.program.annotations import Reads, stated_by
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import called
from codemods.program.replaced import place_replacing
from codemods.program.scopes import ScopeTree, dotted
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Refusals, refuse


def evaluated_annotations(tree: ScopeTree, helper: Helper) -> list[ast.expr]:
    """The annotations of a helper that its definition evaluates."""
    if "annotations" in tree.source.future_flags:
        return []
    return [annotation for annotation in stated_by(helper.node) if not isinstance(annotation, ast.Constant)]


def defined_alike(around: Surroundings, tree: ScopeTree, helper: Helper) -> Refusals:
    """No file of the project replaces, and no star import brings, what the definition evaluates."""
    for code, nodes in (
        ("annotations-evaluated", evaluated_annotations(tree, helper)),
        ("decorated", [called(decorator) for decorator in helper.node.decorator_list]),
    ):
        reads = Reads()
        for node in nodes:
            reads.add(tree, helper.outer, node, code == "decorated")
        place = place_replacing(around, reads.names | reads.chains, reads.paths)
        if place is not None:
            what = f"{place}, which the definition of {helper.name} evaluates at every call"
            yield refuse(code, helper.node, what)
        for name, value in reads.names.items():
            binders = tree.binders.get((tree.module, name), [])
            line = around.late_star(min((b.line for b in binders), default=0), name) if value else None
            if line is not None:
                yield refuse(code, line, f"this star import may bring {name}")


def changes_later(lifting: Lifting, helper: Helper, annotation: ast.expr) -> str | None:
    """How the file itself makes that evaluating an annotation at some call may fail, or do something."""
    tree, module = lifting.tree, lifting.tree.module
    reads = Reads()
    reads.add(tree, helper.outer, annotation)
    for taken in reads.unknown:
        return f"{ast.unparse(taken)} may be computed"
    for name, value in reads.names.items():
        for binder in tree.binders.get((module, name), []):
            if binder.deletes or isinstance(binder.node, ast.ExceptHandler):
                return f"{name} is unbound in line {binder.line}"
            if not value or dotted(tree, module, ast.Name(name, ast.Load())) is not None:
                continue
            if binder.scope.frame() is not module:
                return f"{name} may be bound again in line {binder.line}"
        if value and (module, name) in tree.binders:
            later = lifting.analysis.flow(module).rebound_after(helper.top, name)
            if later is not None and dotted(tree, module, ast.Name(name, ast.Load())) is None:
                return f"{name} may be bound again in line {later}"
    return None
