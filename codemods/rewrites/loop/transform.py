"""Make of a function's main loop the method of a class, and of the loop itself a call."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from codemods.program.loops import Parts
from codemods.program.nodes import first_line
from codemods.program.source import split_lines
from codemods.rewrites.text.file import TextNotPreserved, with_absolute_imports
from codemods.rewrites.text.imports import ImportSection, imports_among
from codemods.rewrites.text.layout import comments_above, comments_inside, indentation, reindented

_DEPTH = " " * 8


def bound_first(parts: Parts, names: Iterable[str]) -> dict[str, int]:
    """Number for each of some variables the statement that may bind it first, the loop at the latest."""
    found = {}
    for name in names:
        lines = [binder.line for binder in parts.binders(name, "setup")]
        above = (at for at, statement in enumerate(parts.setup) if (statement.end_lineno or 0) >= min(lines))
        found[name] = next(above) if lines else len(parts.setup)
    return found


def with_none_first(parts: Parts, names: Mapping[str, int]) -> str:
    """Write the text in which variables are None before the statements of some numbers of the function."""
    source = parts.analysis.source
    lines = list(source.lines)
    for name, number in sorted(names.items(), key=lambda item: item[1], reverse=True):
        statement = parts.node.body[number]
        at = first_line(statement) - 1 - comments_above(source, statement)
        lines.insert(at, f"{indentation(source, statement.lineno)}{name} = None{source.newline}")
    return "".join(lines)


class Loop:
    """One loop taken out of its function, as the lines that it is."""

    def __init__(self, parts: Parts, package: str | None) -> None:
        """Relative imports in it, made in a package, are made absolute.

        Raises:
            TextNotPreserved: if libcst would write one of them differently.
        """
        self.parts = parts
        self.source = parts.analysis.source
        self.indent = indentation(self.source, parts.loop.lineno)
        self.lines = split_lines(with_absolute_imports(self.source, (), [parts.loop], package).text())
        if len(self.lines) != len(self.source.lines):
            raise TextNotPreserved(parts.loop.lineno)
        self.first = parts.loop.lineno - 1
        self.end = parts.last + comments_inside(self.source, parts.loop)

    def rest(self, call: str, section: ImportSection) -> str:
        """The text with a statement in place of the loop, and imports."""
        newline = self.source.newline
        made = textwrap.indent(call + "\n", self.indent).replace("\n", newline)
        at, imports = imports_among(self.source, section, self.parts.node.lineno)
        above = [*self.lines[:at], imports, *self.lines[at : self.first]]
        return "".join([*above, made, *self.lines[self.end :]])

    def method(self, head: str, *, apart: bool, last: Sequence[str]) -> str:
        """The text of a class whose last method goes on with the loop, and then some lines."""
        newline = self.source.newline
        rows = reindented(self.lines[self.first : self.end], self.parts.loop, self.indent, _DEPTH)
        if not rows[-1].endswith(("\n", "\r")):
            rows.append(newline)
        return "".join([head, newline * apart, *rows, *(_DEPTH + line + newline for line in last)])
