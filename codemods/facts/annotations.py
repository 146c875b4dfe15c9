"""The annotation that a program already states for a captured variable."""

from __future__ import annotations

import ast

from codemods.facts.lifting import Analysis, Need


def stated_annotation(analysis: Analysis, need: Need) -> ast.expr | None:
    """The annotation of a capture that has one binding, or None.

    An optional type is left out: where the helper runs it may have been narrowed, and the wide type would be
    wrong.
    """
    name, owner = need
    tree = analysis.tree
    if owner is tree.module or "annotations" not in tree.source.future_flags:
        return None
    binders = tree.binders.get((owner, name), [])
    if len(binders) != 1:
        return None
    node = binders[0].node
    if not isinstance(node, (ast.arg, ast.AnnAssign)) or node.annotation is None:
        return None
    arguments = getattr(owner.node, "args", None)
    if isinstance(node, ast.arg) and arguments is not None and node in (arguments.vararg, arguments.kwarg):
        return None
    for part in ast.walk(node.annotation):
        if isinstance(part, ast.Constant) and part.value is not Ellipsis:
            return None
        if isinstance(part, ast.BinOp) or (
            isinstance(part, ast.Name) and part.id in ("Optional", "Union", "Any")
        ):
            return None
        if isinstance(part, ast.Name) and tree.owner(owner, part.id) is not tree.module:
            return None
    return node.annotation


def annotation_names(annotations: list[ast.expr]) -> set[str]:
    """Names that annotations refer to, also from inside string annotations."""
    found: set[str] = set()
    for annotation in annotations:
        for part in ast.walk(annotation):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                try:
                    inner = ast.parse(part.value.strip(), mode="eval").body
                except SyntaxError:
                    continue
                found.update(name.id for name in ast.walk(inner) if isinstance(name, ast.Name))
    return found
