"""Captures of functions, and names that tests replace (`seams_of`), for other programs.

Nothing of the analysed program is imported or run. Lines and columns are those of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.source import parse_source


@dataclass(frozen=True, slots=True)
class Capture:
    """A variable of an enclosing function that a helper reads.

    Attributes:
        name: the variable.
        bound: lines that bind or unbind it, sorted; more than one means that it is rebound.
        read: lines of the helper that read it, in order.
        later: whether a function or generator inside the helper reads it, perhaps after the helper returned.
    """

    name: str
    bound: tuple[int, ...]
    read: tuple[int, ...]
    later: bool


@dataclass(frozen=True, slots=True)
class Captures:
    """A function defined inside another one, and what it reads from around it.

    Attributes:
        qualname: names of the functions and classes around it and its own, joined by dots.
        line: of its ``def``.
        captures: in the order in which it first reads them.
        calls: lines that call it by its name.
        values: lines that use it in any other way: pass it, store it, return it.
    """

    qualname: str
    line: int
    captures: tuple[Capture, ...]
    calls: tuple[int, ...]
    values: tuple[int, ...]


def captures_of(text: str, path: str = "<text>", *, function: str | None = None) -> tuple[Captures, ...]:
    """The helpers of a program's text, in its order; with ``function`` those defined directly in that one.

    Raises:
        SourceError: if the text is not Python.
    """
    analysis = Analysis(parse_source(text, path))
    chosen = [h for h in analysis.helpers if function is None or h.outer.qualname == function]
    return tuple(_captures(analysis, helper) for helper in chosen)


def _captures(analysis: Analysis, helper: Helper) -> Captures:
    found = []
    for name in helper.captures:
        reads = [(owner, use) for other, owner, use in helper.reads if other == name]
        binders = analysis.tree.binders.get((reads[0][0], name), [])
        found.append(
            Capture(
                name,
                bound=tuple(sorted({binder.line for binder in binders})),
                read=tuple(dict.fromkeys(use.node.lineno for _, use in reads)),
                later=name in helper.kept,
            )
        )
    uses = analysis.uses(helper)
    return Captures(
        helper.qualname,
        helper.node.lineno,
        tuple(found),
        calls=tuple(use.node.lineno for use in uses if use.call is not None),
        values=tuple(use.node.lineno for use in uses if use.call is None),
    )
