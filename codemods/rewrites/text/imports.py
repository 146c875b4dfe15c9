"""Import statements that files gain: which they are, how they are written, and where they go."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codemods.program.imports import Import, Manner
from codemods.program.nodes import first_line
from codemods.program.source import Source
from codemods.rewrites.text.layout import comments_above, documentation, line_limit


@dataclass
class ImportSection:
    """Imports of one file, rendered in sections: standard library, others, the project's own, relative ones.

    ``made`` are modules of the project that need not be there yet.
    """

    roots: tuple[Path, ...]
    future: tuple[str, ...] = ()
    runtime: set[Import] = field(default_factory=set)
    typing: set[Import] = field(default_factory=set)
    manner: Manner = field(default_factory=Manner)
    made: Collection[str] = ()

    def render(self, newline: str, width: int) -> str:
        """The section's text, without blank lines around it."""
        blocks = [f"from __future__ import {', '.join(self.future)}"] if self.future else []
        needed = set(self.runtime)
        typing = {made for made in self.typing if made.bound not in {m.bound for m in needed}}
        if typing:
            needed.add(Import("typing", "TYPE_CHECKING"))
        blocks += self._blocks(needed, width, newline)
        if typing:
            inner = f"{newline}{newline}".join(self._blocks(typing, width - 4, newline))
            blocks.append(f"if TYPE_CHECKING:{newline}{textwrap.indent(inner, '    ')}")
        return (newline * 2).join(blocks)

    def _blocks(self, imports: set[Import], width: int, newline: str) -> list[str]:
        """Statements, those of a rank together."""
        found: dict[int, list[str]] = {}
        for made in sorted(made for made in imports if made.name is None):
            line = f"import {made.module}" + (f" as {made.alias}" if made.alias else "")
            found.setdefault(self._rank(made), []).append(line)
        named = sorted((made for made in imports if made.name is not None), key=self._key)
        for module in dict.fromkeys((made.module, made.alias and made) for made in named):
            own = [made for made in named if (made.module, made.alias and made) == module]
            names = [f"{made.name} as {made.alias}" if made.alias else str(made.name) for made in own]
            line = from_statement(self.manner.spelled(module[0]), names, width, newline)
            found.setdefault(self._rank(own[0]), []).append(line)
        return [newline.join(found[rank]) for rank in sorted(found)]

    def _rank(self, made: Import) -> int:
        """The section that an import belongs to."""
        if made.name is not None and self.manner.spelled(made.module).startswith("."):
            return 3
        top = made.module.partition(".")[0]
        if top in sys.stdlib_module_names:
            return 0
        own = any(module.partition(".")[0] == top for module in self.made) or any(
            (root / top).is_dir() or (root / f"{top}.py").is_file() for root in self.roots
        )
        return 2 if own else 1

    def _key(self, made: Import) -> tuple[Any, ...]:
        """The order of import sorters: the furthest package, the module, constants, then classes."""
        spelled, name = self.manner.spelled(made.module), made.name or ""
        bare = spelled.lstrip(".")
        kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
        return len(bare) - len(spelled), bare.lower(), kind, name.lower(), name


def from_statement(module: str, names: Sequence[str], width: int, newline: str) -> str:
    """An import of names, one a line where they are too many for one."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= width:
        return line
    return newline.join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def imports_above(source: Source, text: str, before: int) -> tuple[int, str]:
    """Where import statements go that code from a line on needs: the number of lines above them, and their
    text with blank lines around it.

    They stand below the last import before that line, or the docstring, or the comments at the file's top.
    """
    if not text:
        return 0, ""
    body, lines, newline = source.tree.body, source.lines, source.newline
    last, above = 0, None
    for statement in body:
        if statement.lineno >= before:
            break
        if statement is documentation(body) or isinstance(statement, (ast.Import, ast.ImportFrom)):
            last, above = statement.end_lineno or 0, statement
    top = first_line(body[0]) - 1 - comments_above(source, body[0]) if body else len(lines)
    while above is None and last < top and lines[last].startswith("#"):
        last += 1
    lead = newline if isinstance(above, ast.Expr) else ""
    if last and not lines[last - 1].endswith(("\n", "\r")):
        lead += newline
    rest = lines[last:]
    there = next((number for number, line in enumerate(rest) if line.strip()), len(rest))
    gap = ""
    if there < len(rest) and not rest[there].startswith(("import ", "from ")):
        wanted = 2 if rest[there].startswith(("def ", "async ", "class ", "@")) else 1
        gap = newline * max(0, wanted - there)
    return last, lead + text + newline + gap


def imports_among(source: Source, section: ImportSection, before: int) -> tuple[int, str]:
    """Where a section of imports goes among those before a line, and its text."""
    return imports_above(source, section.render(source.newline, line_limit(source)), before)


def without_names(node: Any, gone: Collection[int]) -> Any:
    """An import without some names, by their numbers, laid out as it was."""
    kept = [alias for number, alias in enumerate(node.names) if number not in gone]
    # What stood after the last name stands after what is the last now.
    kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
    return node.with_changes(names=kept)
