"""Adding items at the end of a parenthesised list: arguments of a call, parameters of a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from codemods.rewrites.text.layout import NOTHING


def row_end(indent: str) -> cst.ParenthesizedWhitespace:
    """The end of a line in parentheses, and the indentation of the next beyond its statement's."""
    return cst.ParenthesizedWhitespace(
        first_line=cst.TrailingWhitespace(), indent=True, last_line=cst.SimpleWhitespace(indent)
    )


def add_arguments(call: cst.Call, new: Sequence[cst.Arg], row: str, unit: str, *, fits: bool) -> cst.Call:
    """A call with arguments at its end: on its last line if that ``fits``, else one a line.

    ``row`` is how much deeper the call's line begins than its statement's block, ``unit`` one step of
    indentation.
    """
    old = list(call.args)
    if len(old) == 1 and isinstance(generator := old[0].value, cst.GeneratorExp) and not generator.lpar:
        # Its parentheses were those of the call.
        own = generator.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        old = [old[0].with_changes(value=own)]
    if fits and not is_arranged(call.whitespace_before_args):
        return call.with_changes(args=[*old, *new])
    inner = row + unit
    return call.with_changes(
        args=[*_rows(old, inner), *_rows(new[:-1], inner), *_rows(new[-1:], row)],
        whitespace_before_args=_lead(call.whitespace_before_args, inner),
    )


def add_parameters(
    node: cst.FunctionDef, new: Sequence[cst.Param], unit: str, fits: Callable[[cst.FunctionDef], bool]
) -> cst.FunctionDef:
    """A definition with keyword-only parameters at the end, before ``**keywords``."""
    given = node.params
    star: Any = given.star_arg
    if not given.kwonly_params and not isinstance(star, cst.Param):
        star = cst.ParamStar()
    flat = given.with_changes(star_arg=star, kwonly_params=[*given.kwonly_params, *new])
    one = node.with_changes(params=flat)
    if given.star_kwarg is not None:
        return one
    if not is_arranged(node.whitespace_before_params) and (fits(one) or is_spread([given])):
        return one
    slash = given.posonly_ind if isinstance(given.posonly_ind, cst.ParamSlash) else cst.ParamSlash()
    params = given.with_changes(
        posonly_params=_rows(given.posonly_params, unit),
        posonly_ind=_rows([slash], unit)[0] if given.posonly_params else given.posonly_ind,
        params=_rows(given.params, unit),
        star_arg=_rows([star], unit)[0],
        kwonly_params=[*_rows([*given.kwonly_params, *new[:-1]], unit), *_rows(new[-1:], "")],
    )
    lead = _lead(node.whitespace_before_params, unit)
    return node.with_changes(params=params, whitespace_before_params=lead)


def _lead(lead: cst.BaseParenthesizableWhitespace, inner: str) -> cst.ParenthesizedWhitespace:
    """Make the space before the first of items that have a line each."""
    if not isinstance(lead, cst.ParenthesizedWhitespace):
        return row_end(inner)
    return lead.with_changes(indent=True, last_line=cst.SimpleWhitespace(inner))


def is_arranged(lead: cst.BaseParenthesizableWhitespace) -> bool:
    """Tell whether the first item has a line of its own."""
    return isinstance(lead, cst.ParenthesizedWhitespace)


def is_spread(nodes: Sequence[cst.CSTNode]) -> bool:
    """Tell whether there is a line end in the text of some items."""
    empty = cst.Module([])
    return any("\n" in empty.code_for_node(node) for node in nodes)


def _rows(items: Sequence[Any], inner: str) -> list[Any]:
    """Items with a comma and a line end after each; the comments that stand there stay."""
    found = []
    for item in items:
        gaps = [item.comma.whitespace_after] if isinstance(item.comma, cst.Comma) else []
        changes: dict[str, Any] = {}
        for name in ("whitespace_after_arg", "whitespace_after_param"):
            if hasattr(item, name):
                gaps.append(getattr(item, name))
                changes[name] = NOTHING
        lines = [gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace)]
        end = (
            lines[0].with_changes(indent=True, last_line=cst.SimpleWhitespace(inner))
            if lines
            else row_end(inner)
        )
        found.append(item.with_changes(comma=cst.Comma(whitespace_after=end), **changes))
    return found
