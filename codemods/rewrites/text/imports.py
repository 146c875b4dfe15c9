"""The import section of a file that a plan makes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libcst as cst

from codemods.program.imports import Import, Manner
from codemods.program.nodes import first_line
from codemods.program.source import Source
from codemods.rewrites.text.layout import comments_above, documentation, line_limit


@dataclass
class ImportSection:
    """Imports of one file, rendered in sections: standard library, others, the project's own, relative ones.

    ``made`` are modules of the project that need not be there yet, as are those that plans will have made.
    """

    roots: tuple[Path, ...]
    future: tuple[str, ...] = ()
    runtime: set[Import] = field(default_factory=set)
    typing: set[Import] = field(default_factory=set)
    manner: Manner = field(default_factory=Manner)
    made: Collection[str] = ()
    planned: Collection[str] = ()
    _own: dict[str, bool] = field(default_factory=dict)

    def rank(self, made: Import) -> int:
        """The section that an import belongs to."""
        module = made.module
        if made.name is not None and self.manner.spelled(module).startswith("."):
            return 3
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            return 0
        if top not in self._own:
            made_later = {module.partition(".")[0] for module in (*self.made, *self.planned)}
            self._own[top] = top in made_later or any(
                (root / top).is_dir() or (root / f"{top}.py").is_file() for root in self.roots
            )
        return 2 if self._own[top] else 1

    def render(self, newline: str, width: int) -> str:
        """The section's text, without blank lines around it."""
        blocks = []
        if self.future:
            blocks.append([f"from __future__ import {', '.join(self.future)}"])
        needed = set(self.runtime)
        typing = {made for made in self.typing if made.bound not in {m.bound for m in needed}}
        if typing:
            needed.add(Import("typing", "TYPE_CHECKING"))
        blocks.extend(self._blocks(needed, width))
        if typing:
            inner: list[str] = []
            for block in self._blocks(typing, width - 4):
                inner.extend(["", *block] if inner else block)
            blocks.append(["if TYPE_CHECKING:", *("    " + line if line else "" for line in inner)])
        return (newline * 2).join(newline.join(block) for block in blocks)

    def _blocks(self, imports: set[Import], width: int) -> list[list[str]]:
        found = []
        for rank in range(4):
            chosen = [made for made in imports if self.rank(made) == rank]
            plain = sorted(made for made in chosen if made.name is None)
            lines = [f"import {m.module}" + (f" as {m.alias}" if m.alias else "") for m in plain]
            rows: list[tuple[str, tuple[int, str, str], list[str]]] = []
            named = [made for made in chosen if made.name is not None]
            for module in {made.module for made in named}:
                own = sorted((made for made in named if made.module == module), key=_import_key)
                together = [str(made.name) for made in own if made.alias is None]
                rows += [(module, name_key(together[0]), together)] if together else []
                rows += [(module, _import_key(m), [f"{m.name} as {m.alias}"]) for m in own if m.alias]
            rows = [(self.manner.spelled(module), key, names) for module, key, names in rows]
            for module, _, names in sorted(rows, key=lambda row: (*_place(row[0]), row[1])):
                lines.extend(_from(module, names, width))
            if lines:
                found.append(lines)
        return found


def _place(module: str) -> tuple[int, str]:
    """The furthest package first, as import sorters put relative imports."""
    name = module.lstrip(".")
    return len(name) - len(module), module_key(name)


def module_key(module: str) -> str:
    """Modules in the order of import sorters."""
    return module.lower()


def name_key(name: str) -> tuple[int, str, str]:
    """Constants, then classes, then the rest, as import sorters order them."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name.lower(), name


def _import_key(made: Import) -> tuple[int, str, str]:
    return name_key(made.name or "")


def _from(module: str, names: list[str], width: int) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= width:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def place_of_imports(source: Source, before: int) -> int:
    """The number of lines above the place where a file that is there gets imports: after its docstring, and
    the last import that comes before a line; comments there may say how the file is encoded or run.
    """
    found = -1
    for number, statement in enumerate(source.tree.body):
        if statement.lineno >= before:
            break
        if is_described(source, number) or isinstance(statement, (ast.Import, ast.ImportFrom)):
            found = number
    return _below_comments(source, found)


def is_described(source: Source, number: int) -> bool:
    """Whether a top-level statement is the module's docstring."""
    return number == 0 and documentation(source.tree.body) is not None


def _below_comments(source: Source, number: int) -> int:
    """The number of lines down to the end of a statement (-1: none), and the comments directly below that are
    not those of the next one.
    """
    body = source.tree.body
    end = (body[number].end_lineno or 0) if number >= 0 else 0
    last = end
    while last < len(source.lines) and source.lines[last].startswith("#"):
        last += 1
    if number + 1 < len(body):
        following = body[number + 1]
        last = min(last, max(end, first_line(following) - 1 - comments_above(source, following)))
    return last


def imports_on_top(source: Source, lines: Sequence[str]) -> tuple[int, str, int]:
    """Where import statements of the standard library go, their text, and how many they are: after the
    module's docstring and future imports.
    """
    if not lines:
        return 0, "", 0
    found = -1
    for number, statement in enumerate(source.tree.body):
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (future or is_described(source, number)):
            break
        found = number
    last, newline = _below_comments(source, found), source.newline
    text = "".join(line + newline for line in lines)
    above = source.lines[last - 1] if last else ""
    if above and not above.endswith(("\n", "\r")):
        return last, newline * 2 + text, len(lines)
    following = source.lines[last] if last < len(source.lines) else ""
    lead = newline if last else ""
    if following and not following.strip():
        lead, last = "", last + 1
        following = source.lines[last] if last < len(source.lines) else ""
    return last, lead + text + _gap_below(source, last), len(lines)


def imports_among(source: Source, section: ImportSection, before: int) -> tuple[int, str, int]:
    """Where a section of imports goes among those before a line, its text, how many statements it is."""
    text = section.render(source.newline, line_limit(source))
    last = place_of_imports(source, before)
    if not text:
        return last, "", 0
    count = len(ast.parse(text).body)
    described = is_described(source, 0) and last == source.tree.body[0].end_lineno
    lead = source.newline if described or _is_apart(source, section, last) else ""
    return last, lead + text + source.newline + _gap_below(source, last), count


def _is_apart(source: Source, section: ImportSection, last: int) -> bool:
    """Whether the imports that go below a line are of another kind than the one that ends there."""
    above = next((s for s in source.tree.body if s.end_lineno == last), None)
    ranks = {section.rank(made) for made in section.runtime | section.typing}
    if not isinstance(above, (ast.Import, ast.ImportFrom)) or len(ranks) != 1:
        return False
    if isinstance(above, ast.ImportFrom):
        return ranks != {3} if above.level else section.rank(Import(above.module or "", "name")) not in ranks
    return section.rank(Import(above.names[0].name)) not in ranks


def _gap_below(source: Source, last: int) -> str:
    """The blank lines that set imports apart from what comes below, as far as they are not there."""
    rest = source.lines[last:]
    there = next((number for number, line in enumerate(rest) if line.strip()), len(rest))
    if there == len(rest) or rest[there].startswith(("import ", "from ")):
        return ""
    wanted = 2 if rest[there].startswith(("def ", "async ", "class ", "@")) else 1
    return source.newline * max(0, wanted - there)


def without_names(node: Any, gone: Collection[int], width: int) -> Any:
    """An import without some names, by their numbers: on one line, or laid out as it was if it is too long or
    has comments.
    """
    kept = [alias for number, alias in enumerate(node.names) if number not in gone]
    # What stood after the last name stands after what is the last now.
    kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
    made = node.with_changes(names=kept)
    if isinstance(node, cst.Import):
        return made
    bare = [alias.with_changes(comma=cst.MaybeSentinel.DEFAULT) for alias in kept]
    flat = node.with_changes(names=bare, lpar=None, rpar=None, semicolon=cst.MaybeSentinel.DEFAULT)
    empty = cst.Module([])
    remarked = "#" in empty.code_for_node(node)
    fits = len(empty.code_for_node(flat)) <= width
    return flat.with_changes(semicolon=node.semicolon) if fits and not remarked else made
