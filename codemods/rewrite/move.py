"""Text edits of moving module-level definitions: cutting them out, and renaming what refers to them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from codemods.decide.definitions import Definition
from codemods.facts.lifting import Analysis
from codemods.facts.scopes import Scope, Use
from codemods.facts.source import Source
from codemods.rewrite.edits import Edit
from codemods.rewrite.lift import first_line


def definition_region(source: Source, definition: Definition) -> tuple[int, int]:
    """Offsets of a definition's lines, with the comments directly above."""
    assert definition.node.end_lineno is not None
    start = source.starts[first_line(source, definition.node) - 1]
    return start, source.starts[definition.node.end_lineno]


def definition_removal(source: Source, definition: Definition) -> Edit:
    """The edit that takes a definition out, with the blank lines after it."""
    start, end = definition_region(source, definition)
    line = source.starts.index(end)
    after = line
    while after < len(source.lines) and not source.lines[after].strip():
        after += 1
    first = source.starts.index(start)
    before = first
    while before > 0 and not source.lines[before - 1].strip():
        before -= 1
    keep = max(0, (after - line) - (first - before))
    return Edit(start, source.starts[after], "".join(source.lines[line : line + keep]))


def name_edits(analysis: Analysis, renames: Mapping[str, str], owner: Scope | None = None) -> list[Edit]:
    """Edits that rename variables of a scope (by default the module's) wherever they are read."""
    tree, source = analysis.tree, analysis.source
    home = owner or tree.module
    edits = []
    for use in _occurrences(analysis):
        new = renames.get(use.node.id)
        if new is not None and new != use.node.id and tree.owner(use.scope, use.node.id) is home:
            start, end = source.span(use.node)
            edits.append(Edit(start, end, new))
    return sorted(set(edits))


def _occurrences(analysis: Analysis) -> Iterator[Use]:
    for uses in analysis.tree.uses.values():
        yield from uses
    yield from analysis.tree.annotated


def free_everywhere(analysis: Analysis, name: str) -> bool:
    """Whether a name occurs nowhere in a file."""
    tree = analysis.tree
    known = {found for _, found in (*tree.uses, *tree.binders, *tree.declared)}
    return (
        name not in known and name not in tree.strings and all(use.node.id != name for use in tree.annotated)
    )


def definition_name_edit(source: Source, definition: Definition, new: str) -> Edit | None:
    """The edit that gives a definition another name."""
    node = definition.node
    if new == definition.name:
        return None
    if isinstance(node, ast.Assign):
        start, end = source.span(node.targets[0])
        return Edit(start, end, new)
    if isinstance(node, ast.AnnAssign):
        start, end = source.span(node.target)
        return Edit(start, end, new)
    start = source.offset(node.lineno, node.col_offset)
    match = re.compile(r"(?:async\s+)?(?:def|class)\s+").match(source.text, start)
    assert match is not None
    return Edit(match.end(), match.end() + len(definition.name), new)
