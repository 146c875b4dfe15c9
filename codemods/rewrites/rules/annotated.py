"""Annotations that are evaluated where the function is defined."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.annotations import Meanings, stated_by
from codemods.program.effects import Effect
from codemods.program.file_effects import effects_of
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import all_defaults
from codemods.program.scopes import FunctionNode, ScopeTree
from codemods.rewrites.refusals import Refusals, example, refuse
from codemods.rewrites.rules.definition import bound_early, is_constant
from codemods.rewrites.rules.redefined import changes_later, evaluated_annotations

example(
    "annotations-evaluated",
    """
-import sys
+import typing as t
+from collections.abc import Sequence
+import numpy as np
+class C:
+    pass
 def outer():
-    def h(x: sys.Sequence | None) -> 'int':
+    def h(x: np.ndarray | None, y: Sequence[C] = ()) -> t.Optional[C]:
         return x
-    return h(1)
+    return h(None)
""",
)


def annotations_safe(lifting: Lifting, helper: Helper) -> Refusals:
    """Annotations are strings, or such that evaluating them before the outer function's statement can't fail.

    What they give is not seen by anyone: the helper is only called.
    """
    written = evaluated_annotations(lifting.tree, helper)
    if not written:
        return
    tree = lifting.tree
    root = helper.top
    evaluated = tree.once(f"evaluated before {id(root)}", lambda: _evaluated_before(tree, root))
    meanings = Meanings(tree, helper.outer, lambda name: _importable(lifting, helper, name), evaluated)
    for annotation in written:
        if not meanings.surely_evaluates(annotation):
            yield refuse(
                "annotations-evaluated",
                annotation,
                f"an annotation of {helper.name} is evaluated at its definition",
            )
        changes = changes_later(lifting, helper, annotation)
        if changes is not None:
            what = f"an annotation of {helper.name} is evaluated at its definition, and {changes}"
            yield refuse("annotations-evaluated", annotation, what)


def _importable(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Whether a global may be named in an annotation of the moved helper."""
    if not bound_early(lifting, helper, name):
        return False
    if helper not in lifting.foreign:
        return True
    binders = lifting.tree.binders[lifting.tree.module, name]
    return all(isinstance(binder.node, (ast.Import, ast.ImportFrom)) for binder in binders)


def _evaluated_before(tree: ScopeTree, root: ast.AST) -> frozenset[str]:
    """Dumps of expressions that annotations evaluate before a module-level statement, or first thing in it.

    What they name must not be bound again in between.
    """
    line = getattr(root, "lineno", 0)
    found: set[str] = set()
    for number, annotation in tree.once("evaluated annotations", lambda: list(_evaluated(tree))):
        if number > line:
            continue
        for node in ast.walk(annotation):
            if isinstance(node, ast.expr) and _settled(tree, node, number, line):
                found.add(ast.dump(node))
    for annotation in _stated(tree, root, begun=True):
        found.update(ast.dump(node) for node in ast.walk(annotation) if isinstance(node, ast.expr))
    return frozenset(found)


def _settled(tree: ScopeTree, node: ast.expr, start: int, end: int) -> bool:
    """Whether the names in an expression mean the same from one line of the module to another."""
    for name in (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)):
        for binder in tree.binders.get((tree.module, name), []):
            if start <= binder.line <= end or binder.scope.frame() is not tree.module:
                return False
    return True


def _evaluated(tree: ScopeTree) -> Iterator[tuple[int, ast.expr]]:
    """Annotations that loading the module evaluates, with the line where that is over."""
    for statement in tree.source.tree.body:
        for annotation in _stated(tree, statement, begun=False):
            yield statement.end_lineno or statement.lineno, annotation


def _stated(tree: ScopeTree, statement: ast.AST, *, begun: bool) -> Iterator[ast.expr]:
    """Annotations that a function or class of the module evaluates; if it has only ``begun``, those that it
    evaluates before anything else of the program's can run.
    """
    if begun and getattr(statement, "decorator_list", []):
        return
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if not begun or _plain_defaults(statement):
            yield from stated_by(statement)
    elif isinstance(statement, ast.ClassDef):
        plain = Meanings(tree, tree.module, lambda name: True, ()).plain
        for inner in statement.body if not begun or plain(statement) else ():
            if begun and effects_of(tree, annotations=False).in_class(inner) is Effect.RUNS:
                return
            for annotation in stated_by(inner) if not isinstance(inner, ast.AnnAssign) else ():
                # Of methods those count whose names the class does not bind itself.
                names = [part.id for part in ast.walk(annotation) if isinstance(part, ast.Name)]
                if not any((tree.by_node[statement], name) in tree.binders for name in names):
                    yield annotation


def _plain_defaults(node: FunctionNode) -> bool:
    return all(map(is_constant, all_defaults(node.args)))
