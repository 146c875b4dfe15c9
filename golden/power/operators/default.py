"""A default in place of the value that was meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from golden.power.source import Edit, Source

WHAT = "a keyword argument left out: the default instead of the value"
MAKES = (
    ("f(a, lr=x)\n", "f(a)\n"),
    ("f(lr=x)\n", "f()\n"),
    ("f(lr=x, momentum=y)\n", "f(momentum=y)\n"),
    ("f(lr=x, momentum=y)\n", "f(lr=x)\n"),
)
LEAVES = ("f(a)\n", "f(**a)\n", "dict(a=b)\n", "replace(a, b=c)\n")

# Of these a keyword is a part, not an option.
_PARTS = ("dict", "replace")


def plant(node: cst.CSTNode, source: Source) -> Iterator[Edit]:
    """The call without each of its keywords in turn, if it has few: those of many are mostly required."""
    if not isinstance(node, cst.Call) or source.text(node.func).rpartition(".")[2] in _PARTS:
        return
    for position, argument in enumerate(node.args):
        if argument.keyword is not None:
            yield _without(node.args, position, source)


def _without(arguments: Sequence[cst.Arg], position: int, source: Source) -> Edit:
    start, end = source.span(arguments[position])
    if position + 1 < len(arguments):
        end = source.span(arguments[position + 1])[0]
    elif position:
        start = source.span(arguments[position - 1])[1]
    left_out = source.data[start:end]
    return Edit(start, end, b"\n" * left_out.count(b"\n"))
