"""Claims about objects, as the proof takes them."""

from __future__ import annotations

import ast

from codemods.equal.objects import Kept, Known
from codemods.rewrites.objects.classes import Imported, Objects


def kept_claims(objects: Objects) -> list[Kept]:
    """Claim of every object which variables it keeps, and where it is made."""
    found = []
    for kept, names in objects:
        node = kept.outer.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        found.append(
            Kept(
                place=(node.lineno, node.col_offset),
                at=node.body.index(kept.at),
                type_name=names.type_name,
                variable=names.variable,
                given=kept.given,
                later=kept.later,
                frozen=kept.frozen,
                readers=tuple(helper.place for helper in kept.helpers),
            )
        )
    return found


def known_claims(imported: Imported) -> Known:
    """Claim by which names the file knows what makes classes."""
    return Known(imported.names, imported.missing)
