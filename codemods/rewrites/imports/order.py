"""Put imports of new modules where an import sorter would: among those of their own package."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from codemods.program.imports import imported_module
from codemods.program.nodes import first_line
from codemods.program.source import Source
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import module_key, name_key
from codemods.rewrites.text.layout import comments_above

Key = tuple[int, str, tuple[int, str, str]]


def imports_in_order(
    source: Source, modules: Collection[str], package: str
) -> tuple[str, list[ast.ImportFrom]]:
    """The text with imports from some modules in the places that sorting gives them, and which have moved.

    Those stay that have no import of the same package beside them, or where these are in no order.

    Raises:
        TextNotPreserved: if libcst would write one differently.
    """
    moves: list[tuple[ast.ImportFrom, int]] = []
    for block in _blocks(source.tree):
        new = [node for node in block if imported_module(node, package) in modules and _alone(source, node)]
        for top in dict.fromkeys(map(_family, new)):
            moves += _placed(source, [n for n in block if _family(n) == top], new)
    program = Program(source, [node for node, _ in moves])
    for node, line in moves:
        text = "".join(source.lines[node.lineno - 1 : node.end_lineno])
        program.cut(node)
        program.insert(line, text if text.endswith(("\n", "\r")) else text + source.newline, 1)
    return program.text(), [node for node, _ in moves]


def _placed(
    source: Source, family: Sequence[ast.ImportFrom], new: Collection[ast.ImportFrom]
) -> Iterator[tuple[ast.ImportFrom, int]]:
    """New imports of one package that are out of order, and the lines (from 0) before which they belong."""
    moving = sorted((node for node in family if node in new), key=_key)
    for one in moving:
        others = [node for node in family if node is not one]
        if others == sorted(others, key=_key):
            moving = [one]
            break
    there = [node for node in family if node not in moving]
    if not there or there != sorted(there, key=_key) or list(family) == sorted(family, key=_key):
        return
    for node in moving:
        following = next((other for other in there if _key(other) > _key(node)), None)
        if following is not None:
            yield node, first_line(following) - 1 - comments_above(source, following)
        else:
            yield node, there[-1].end_lineno or 0


def _blocks(tree: ast.Module) -> Iterator[list[ast.ImportFrom]]:
    """Imports that follow each other, without those of whole modules and the future ones."""
    block: list[ast.ImportFrom] = []
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            block.append(statement)
        elif not isinstance(statement, ast.Import) and block:
            yield block
            block = []
    yield block


def _alone(source: Source, node: ast.ImportFrom) -> bool:
    """Whether a statement has its lines, and no comments above, for itself."""
    rows = "".join(source.lines[node.lineno - 1 : node.end_lineno])
    try:
        return len(ast.parse(rows).body) == 1 and not comments_above(source, node)
    except SyntaxError:
        return False


def _family(node: ast.ImportFrom) -> tuple[int, str]:
    """What an import must share with those among which it stands."""
    return node.level, "" if node.level else (node.module or "").partition(".")[0]


def _key(node: ast.ImportFrom) -> Key:
    return -node.level, module_key(node.module or ""), min(name_key(alias.name) for alias in node.names)
