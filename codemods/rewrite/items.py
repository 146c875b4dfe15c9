"""Adding items at the end of a parenthesised list: arguments of a call, parameters of a definition."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from codemods.facts.scopes import FunctionNode
from codemods.facts.source import Source
from codemods.rewrite.edits import Edit, tokens

_LONGEST = 120
_SHORTEST = 88


@dataclass(frozen=True, slots=True)
class Items:
    """A list in the text: its parentheses, its commas, the end of its last item, whether a comma follows
    that.
    """

    open: int
    close: int
    commas: tuple[int, ...]
    last: int
    trailing: bool

    @property
    def empty(self) -> bool:
        """Whether there are no items yet."""
        return self.last <= self.open + 1


def line_limit(source: Source) -> int:
    """The width that the file itself keeps to."""
    longest = max((len(line.rstrip()) for line in source.lines), default=0)
    return max(_SHORTEST, min(_LONGEST, longest))


def call_items(source: Source, call: ast.Call) -> Items:
    """The argument list of a call."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    arguments = sorted(given, key=lambda node: (node.lineno, node.col_offset))
    text, close = source.text, source.span(call)[1] - 1
    opened = _find(text, source.span(call.func)[1], "(", close)
    commas: list[int] = []
    end = opened + 1
    for argument in arguments:
        end = source.span(argument)[1]
        comma = _find(text, end, ",", close)
        if comma < close:
            commas.append(comma)
    trailing = bool(arguments) and len(commas) == len(arguments)
    while (paren := _find(text, end, ")", commas[-1] if trailing else close)) < (
        commas[-1] if trailing else close
    ):
        end = paren + 1
    return Items(opened, close, tuple(commas), end, trailing)


def _find(text: str, at: int, wanted: str, end: int) -> int:
    """Next place of a character before ``end``, outside comments; ``end`` if there is none."""
    while at < end:
        if text[at] == wanted:
            return at
        if text[at] == "#":
            while at < end and text[at] not in "\r\n":
                at += 1
        else:
            at += 1
    return end


def header_items(source: Source, node: FunctionNode) -> Items:
    """The parameter list of a definition."""
    lines = source.lines[node.lineno - 1 : node.body[0].end_lineno]
    commas: list[int] = []
    depth, opened, last, end = 0, -1, "", -1
    for token in tokens(lines):
        offset = source.starts[node.lineno - 2 + token.start[0]] + token.start[1]
        if token.string in ("(", "[", "{"):
            depth += 1
            if depth == 1:
                opened, end = offset, offset + 1
                continue
        elif token.string in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return Items(opened, offset, tuple(commas), end, last == ",")
        elif token.string == "," and depth == 1:
            commas.append(offset)
        if depth and token.string.strip() and not token.string.startswith("#"):
            last = token.string
            if last != ",":
                end = source.starts[node.lineno - 2 + token.end[0]] + token.end[1]
    raise AssertionError("a definition without an end of its parameters")


def add_items(
    source: Source, items: Items, new: Sequence[str], width: int, *, split: bool = True
) -> list[Edit]:
    """Edits that append items, on the same line where they fit into ``width`` columns, else one item a
    line.
    """
    text = source.text
    inline = ", ".join(new)
    row = text.rfind("\n", 0, items.open) + 1
    row = max(row, text.rfind("\r", 0, items.open) + 1)
    single = not re.search(r"[\r\n]", text[items.open : items.close])
    separator = "" if items.empty else " " if items.trailing else ", "
    if single or not split:
        rest = re.match(r"[^\r\n]*", text[items.close :])
        assert rest is not None
        length = items.close - row + len(separator) + len(inline) + len(rest.group())
        if length <= width or not split:
            return [Edit(items.close, items.close, separator + inline)]
    base = re.match(r"[ \t]*", text[row:])
    assert base is not None
    return _one_a_line(source, items, new, base.group(), single)


def _one_a_line(source: Source, items: Items, new: Sequence[str], base: str, single: bool) -> list[Edit]:
    """Give each new item a line of its own, and the old ones too unless they have an arrangement."""
    text, newline = source.text, source.newline
    inner = base + "    "
    lead = re.match(r"(?:[ \t]*(?:\r\n|\r|\n))+([ \t]+)", text[items.open + 1 : items.close])
    if not single and lead is None:
        separator = "" if items.empty else " " if items.trailing else ", "
        return [Edit(items.close, items.close, separator + ", ".join(new))]
    edits = []
    if lead is not None:
        inner = lead.group(1)
    elif not items.empty:
        edits.append(_gap(text, items.open + 1, newline + inner))
    commas = items.commas[:-1] if items.trailing else items.commas
    for comma in commas:
        gap = re.match(r"[ \t]*", text[comma + 1 :])
        assert gap is not None
        if text[comma + 1 + gap.end()] not in "\r\n#\\":
            edits.append(_gap(text, comma + 1, newline + inner))
    tail = len(text[: items.close].rstrip(" \t\r\n"))
    lines = "".join(f"{newline}{inner}{item}," for item in new)
    if not items.trailing and not items.empty:
        if tail == items.last:
            lines = "," + lines
        else:
            edits.append(Edit(items.last, items.last, ","))
    edits.append(Edit(tail, items.close, lines + newline + base))
    return edits


def _gap(text: str, at: int, new: str) -> Edit:
    """Replace the blanks at a place."""
    end = at
    while text[end] in " \t":
        end += 1
    return Edit(at, end, new)
