"""Adding items at the end of a parenthesised list: arguments of a call, parameters of a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import libcst as cst

from codemods.rewrites.text.layout import BLANK, NOTHING

COMMA = cst.Comma(whitespace_after=BLANK)


def row_end(indent: str) -> cst.ParenthesizedWhitespace:
    """The end of a line in parentheses, and the indentation of the next beyond its statement's."""
    return cst.ParenthesizedWhitespace(
        first_line=cst.TrailingWhitespace(), indent=True, last_line=cst.SimpleWhitespace(indent)
    )


@dataclass(frozen=True, slots=True)
class Manner:
    """How items are added: ``one_line`` keeps them all on one; ``row`` is how much deeper the list's line
    begins than its statement's block, ``unit`` one step of indentation.
    """

    one_line: bool
    row: str
    unit: str


def add_arguments(call: cst.Call, new: Sequence[cst.Arg], manner: Manner) -> cst.Call:
    """A call with arguments at its end: on its last line, or one a line."""
    arguments = list(call.args)
    if len(arguments) == 1 and isinstance(arguments[0].value, cst.GeneratorExp):
        generator = arguments[0].value
        if not generator.lpar:
            # Its parentheses were those of the call.
            own = generator.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
            return call.with_changes(args=_on_one_line([arguments[0].with_changes(value=own)], new))
    lead = call.whitespace_before_args
    inner = manner.row + manner.unit
    if manner.one_line:
        return call.with_changes(args=_on_one_line(arguments, new))
    lead, inner = _lead(lead, inner, empty=not arguments)
    return call.with_changes(args=_one_a_line(arguments, new, inner, manner.row), whitespace_before_args=lead)


def add_parameters(
    node: cst.FunctionDef, new: Sequence[cst.Param], unit: str, fits: Callable[[cst.FunctionDef], bool]
) -> cst.FunctionDef:
    """A definition with keyword-only parameters at the end, before ``**keywords``."""
    given = node.params
    star = [] if given.kwonly_params or isinstance(given.star_arg, cst.Param) else [cst.ParamStar(COMMA)]
    if given.star_kwarg is not None:
        added = [item.with_changes(comma=COMMA) for item in new]
        kept = star[0] if star else given.star_arg
        changed = given.with_changes(star_arg=kept, kwonly_params=[*given.kwonly_params, *added])
        return node.with_changes(params=changed)
    old, lead = _in_a_row(given), node.whitespace_before_params
    marks = [*star, *new]
    inner = unit
    if not is_arranged(lead):
        one = node.with_changes(params=_parameters(given, _on_one_line(old, marks)))
        if is_spread(old) or fits(one):
            return one
    lead, inner = _lead(lead, inner, empty=not old)
    items = _one_a_line(old, marks, inner, "")
    return node.with_changes(params=_parameters(given, items), whitespace_before_params=lead)


def _lead(
    lead: cst.BaseParenthesizableWhitespace, inner: str, *, empty: bool
) -> tuple[cst.ParenthesizedWhitespace, str]:
    """What stands before the first of items that have a line each, and how far they are indented."""
    if not is_arranged(lead):
        return row_end(inner), inner
    if empty:
        return lead.with_changes(indent=True, last_line=cst.SimpleWhitespace(inner)), inner
    return lead, lead.last_line.value if lead.indent else inner


def is_arranged(
    lead: cst.BaseParenthesizableWhitespace,
) -> TypeGuard[cst.ParenthesizedWhitespace]:
    """Whether the first item has a line of its own."""
    return isinstance(lead, cst.ParenthesizedWhitespace)


def is_spread(nodes: Sequence[cst.CSTNode]) -> bool:
    """Whether there is a line end in the text of some items."""
    empty = cst.Module([])
    return any("\n" in (text := empty.code_for_node(node)) or "\r" in text for node in nodes)


def _has_comma(item: Any) -> bool:
    return isinstance(item.comma, cst.Comma)


def _on_one_line(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Items, the new ones on the line on which the last one ends; blanks before the parenthesis stay."""
    items = list(old)
    last = new[-1]
    if items and not (
        _has_comma(items[-1]) and isinstance(items[-1].comma.whitespace_after, cst.ParenthesizedWhitespace)
    ):
        changes: dict[str, Any] = {"comma": COMMA}
        field = _after(items[-1])
        if field is not None and not _has_comma(items[-1]):
            last = last.with_changes(**{_after(last) or "": getattr(items[-1], field)})
            changes[field] = NOTHING
        items[-1] = items[-1].with_changes(**changes)
    return [*items, *(item.with_changes(comma=COMMA) for item in new[:-1]), last]


def _after(item: Any) -> str | None:
    """The field with what stands after an item."""
    return next((f for f in ("whitespace_after_arg", "whitespace_after_param") if hasattr(item, f)), None)


def _one_a_line(old: Sequence[Any], new: Sequence[Any], inner: str, row: str) -> list[Any]:
    """Items, each on a line of its own; old ones that have lines keep them."""
    items = [_with_line_after(item, inner, last=item is old[-1]) for item in old]
    items += [item.with_changes(comma=cst.Comma(whitespace_after=row_end(inner))) for item in new[:-1]]
    return [*items, new[-1].with_changes(comma=cst.Comma(whitespace_after=row_end(row)))]


def _with_line_after(item: Any, inner: str, *, last: bool) -> Any:
    """An item, then a comma, then a new line."""
    if _has_comma(item):
        gap = item.comma.whitespace_after
        if not last and (isinstance(gap, cst.ParenthesizedWhitespace) or "\\" in gap.value):
            return item
        return item.with_changes(comma=item.comma.with_changes(whitespace_after=_line_after(gap, inner)))
    for field in ("whitespace_after_arg", "whitespace_after_param", "whitespace_after"):
        if last and hasattr(item, field):
            comma = cst.Comma(whitespace_after=_line_after(getattr(item, field), inner))
            return item.with_changes(**{field: NOTHING, "comma": comma})
    return item.with_changes(comma=cst.Comma(whitespace_after=row_end(inner)))


def _line_after(gap: cst.BaseParenthesizableWhitespace, inner: str) -> cst.BaseParenthesizableWhitespace:
    """A line end, with the comment that was there."""
    if isinstance(gap, cst.ParenthesizedWhitespace):
        return gap.with_changes(indent=True, last_line=cst.SimpleWhitespace(inner))
    return row_end(inner)


def _in_a_row(given: cst.Parameters) -> list[Any]:
    """Parameters and marks in the order of the text, without ``**keywords``."""
    found: list[Any] = [*given.posonly_params]
    if given.posonly_params:
        mark = given.posonly_ind
        found.append(mark if isinstance(mark, cst.ParamSlash) else cst.ParamSlash())
    found += given.params
    if isinstance(given.star_arg, (cst.Param, cst.ParamStar)):
        found.append(given.star_arg)
    return [*found, *given.kwonly_params]


def _parameters(given: cst.Parameters, items: list[Any]) -> cst.Parameters:
    """Parameters made of items in a row: as many of each kind as before, and keyword-only ones."""
    at = len(given.posonly_params)
    changes: dict[str, Any] = {"posonly_params": items[:at]}
    if at:
        changes["posonly_ind"] = items[at]
        at += 1
    changes["params"] = items[at : at + len(given.params)]
    at += len(given.params)
    if isinstance(given.star_arg, cst.Param) or isinstance(items[at], cst.ParamStar):
        changes["star_arg"] = items[at]
        at += 1
    return given.with_changes(**changes, kwonly_params=items[at:])
