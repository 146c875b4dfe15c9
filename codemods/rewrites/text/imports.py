"""Import statements that files gain: which they are, how they are written, and where they go."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from codemods.program.imports import Import, Manner
from codemods.program.nodes import first_line
from codemods.program.source import Source
from codemods.rewrites.text.layout import comments_above, documentation

# Where a line of imported names gets too long.
_WIDTH = 88


@dataclass
class ImportSection:
    """Imports of one file, those for type checkers apart."""

    future: tuple[str, ...] = ()
    runtime: set[Import] = field(default_factory=set)
    typing: set[Import] = field(default_factory=set)
    manner: Manner = field(default_factory=Manner)

    def render(self, newline: str) -> str:
        """The section's text, without blank lines around it."""
        blocks = [f"from __future__ import {', '.join(self.future)}"] if self.future else []
        needed = set(self.runtime)
        typing = {made for made in self.typing if made.bound not in {m.bound for m in needed}}
        if typing:
            needed.add(Import("typing", "TYPE_CHECKING"))
        if needed:
            blocks.append(self._statements(needed, newline))
        if typing:
            inner = textwrap.indent(self._statements(typing, newline), "    ")
            blocks.append(f"if TYPE_CHECKING:{newline}{inner}")
        return (newline * 2).join(blocks)

    def _statements(self, imports: set[Import], newline: str) -> str:
        """Statements in the order of the alphabet; the sections that a project has are its formatter's."""
        lines, named = list[str](), dict[str, list[str]]()
        for made in sorted(imports, key=lambda each: (each.module, each.name or "", each.alias or "")):
            alias = f" as {made.alias}" if made.alias else ""
            if made.name is None:
                lines.append(f"import {made.module}{alias}")
            else:
                named.setdefault(self.manner.spelled(made.module), []).append(made.name + alias)
        return newline.join([*lines, *(from_statement(*each, newline) for each in named.items())])


def from_statement(module: str, names: Sequence[str], newline: str) -> str:
    """An import of names, one a line where they are too many for one."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _WIDTH:
        return line
    return newline.join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def imports_above(source: Source, text: str, before: int) -> tuple[int, str]:
    """Where import statements go that code from a line on needs: the number of lines above them, and their
    text with a blank line below it.

    They stand below the last import before that line, or the docstring, or the comments at the file's top.
    """
    if not text:
        return 0, ""
    body, lines, newline = source.tree.body, source.lines, source.newline
    above = [s for s in body if s is documentation(body) or isinstance(s, (ast.Import, ast.ImportFrom))]
    last = max((s.end_lineno or 0 for s in above if s.lineno < before), default=0)
    if not last:
        top = first_line(body[0]) - 1 - comments_above(source, body[0])
        last = len([*takewhile(lambda line: line.startswith("#"), lines[:top])])
    lead = newline if last and not lines[last - 1].endswith(("\n", "\r")) else ""
    apart = lines[last:] and lines[last].strip() and not lines[last].startswith(("import ", "from "))
    return last, lead + text + newline * (2 if apart else 1)


def imports_among(source: Source, section: ImportSection, before: int) -> tuple[int, str]:
    """Where a section of imports goes among those before a line, and its text."""
    return imports_above(source, section.render(source.newline), before)


def without_names(node: Any, gone: Collection[int]) -> Any:
    """An import without some names, by their numbers, laid out as it was."""
    kept = [alias for number, alias in enumerate(node.names) if number not in gone]
    # What stood after the last name stands after what is the last now.
    kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
    return node.with_changes(names=kept)
