"""The text must be such that the definition and every call can be cut out and changed without touching
more.
"""

from __future__ import annotations

import ast

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import first_line
from codemods.program.scopes import ScopeTree
from codemods.rewrites.refusals import Refusals, refuse


def text_is_plain(lifting: Lifting, helper: Helper) -> Refusals:
    """Definition and calls are where the syntax tree says."""
    source = lifting.tree.source
    first = first_line(helper.node)
    starts = source.lines[first - 1].lstrip(" \t").startswith(("def", "async", "@"))
    continued = first > 1 and source.lines[first - 2].rstrip("\r\n").endswith("\\")
    if not starts or continued:
        yield refuse("layout", first, f"the definition of {helper.name} does not start a line of its own")
    for use in lifting.analysis.uses(helper):
        if use.call is None:
            continue
        start, end = source.span(use.node)
        close = source.span(use.call)[1]
        if source.text[start:end] != use.node.id or source.text[close - 1 : close] != ")":
            yield refuse("layout", use.node, f"the call of {helper.name} can't be located in the text")
        if use.in_text and is_printed(lifting.tree, use.call):
            yield refuse("layout", use.node, f"an f-string prints the text of a call of {helper.name}")


def is_printed(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether an f-string around an expression prints the text of it, or of one that holds it."""
    inner: ast.AST = node
    around = tree.parents.get(node)
    while isinstance(around, (ast.expr, ast.keyword, ast.comprehension)):
        if isinstance(around, ast.FormattedValue) and inner is around.value:
            end = tree.source.span(around.value)[1]
            if tree.source.text[end:].lstrip(" \t\f\r\n)").startswith("="):
                return True
        inner, around = around, tree.parents.get(around)
    return False
