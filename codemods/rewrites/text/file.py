"""A file whose touched statements are libcst trees; all others keep their bytes.

A rewrite says what it changes in terms of ast nodes, of which it knows everything. One pass over the touched
paths then carries it all out.
"""

from __future__ import annotations

import ast
import bisect
import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import libcst as cst

from codemods.program.imports import imported_module
from codemods.program.nodes import first_line
from codemods.program.source import Source, all_blocks, blocks_of, statements_in
from codemods.rewrites.text.blocks import Change, Made, Pass, Todo, Unpaired, paired, pairs
from codemods.rewrites.text.layout import BLANK, comments_above, documentation, indentation


class TextNotPreserved(Exception):
    """A text that libcst would not write back as it is."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} can't be kept as it is written; format the file")
        self.line = line


@dataclass(eq=False, slots=True)
class Chunk:
    """Lines of statements of a block that share them (from 0, without the end), and their tree; in it, those
    of an inner block stand in as many others, of which ``heads`` are the lines.
    """

    first: int
    end: int
    statements: list[ast.stmt]
    heads: list[str]
    module: cst.Module

    def around(self, module: cst.Module) -> list[cst.CSTNode]:
        """The nodes of a version of the tree that are around its statements; the last one has these."""
        found: list[Any] = [module]
        for _ in self.heads:
            found += [found[-1].body[0], found[-1].body[0].body]
        return found


class Program:
    """One file to be rewritten."""

    def __init__(self, source: Source, touched: Iterable[ast.AST]) -> None:
        """``touched`` are nodes that change.

        Raises:
            TextNotPreserved: if one of them can't be.
        """
        self.source = source
        self._rows = sorted({node.lineno for node in touched if hasattr(node, "lineno")})
        self.nodes: dict[ast.stmt, cst.CSTNode] = {}
        self.lines: dict[ast.stmt, cst.CSTNode] = {}
        self.names: dict[ast.Name, cst.Name] = {}
        self.calls: dict[ast.Name, cst.Call] = {}
        self.around: dict[ast.Name, ast.stmt] = {}
        self.chunks: list[Chunk] = []
        self.todo = Todo()
        for number, statement in enumerate(source.tree.body):
            inner = next(filter(None, all_blocks(statement)), [statement])[0]
            self._unit = indentation(source, inner.lineno)
            for block, at in self._touched_in(statement) or [(source.tree.body, number)]:
                if self._touched(block[at]) and not (self.chunks and block[at] in self.chunks[-1].statements):
                    self._read(block, at)

    # What is there

    def _rows_of(self, statement: ast.stmt) -> set[int]:
        """The lines of a statement on which something is touched."""
        low = bisect.bisect_left(self._rows, first_line(statement))
        return {*self._rows[low : bisect.bisect_right(self._rows, statement.end_lineno or 0)]}

    def _touched(self, statement: ast.stmt) -> bool:
        return bool(self._rows_of(statement))

    def _touched_in(self, statement: ast.stmt) -> list[tuple[list[ast.stmt], int]]:
        """The places of all that is touched in a statement, if that can be read by itself; else nothing."""
        found, rows = list[tuple[list[ast.stmt], int]](), self._rows_of(statement)
        for block in all_blocks(statement) if rows else ():
            for number, inner in enumerate(block):
                if own := self._rows_of(inner):
                    rows -= own
                    deeper = self._touched_in(inner)
                    if not deeper and not self._stands_apart(block, number):
                        return []
                    found += deeper or [(block, number)]
        return [] if rows else found

    def _stands_apart(self, block: list[ast.stmt], number: int) -> bool:
        """Tell whether a statement has lines of its own, and comments around it that are surely not inside
        of something.
        """
        statement, lines, own = block[number], self.source.lines, self._indent(block[number])
        text = lines[statement.lineno - 1][len(own) :]
        if (
            _shared(block, number) != (number, number)
            or len(own) != statement.col_offset
            or own != self._unit * self._depth(statement)
            or (isinstance(statement, ast.If) and text.startswith("elif"))
        ):
            return False
        first, below = self._first_inside(block, number), lines[statement.end_lineno or 0 :]
        near = [*lines[first : first_line(statement) - 1], *itertools.takewhile(_is_no_code, below)]
        return all(len(line) - len(line.lstrip(" \t")) <= len(own) for line in near if line.strip())

    def _indent(self, statement: ast.stmt) -> str:
        return indentation(self.source, statement.lineno)

    def _depth(self, statement: ast.stmt) -> int:
        """The number of blocks around a statement, by its indentation."""
        return len(self._indent(statement)) // max(1, len(self._unit))

    def _first_inside(self, block: Sequence[ast.stmt], number: int) -> int:
        """The first line (from 0) of a statement of an inner block and the comments above it."""
        first, least = first_line(block[number]) - 1, (block[number - 1].end_lineno or 0) if number else 0
        while first > least and _is_no_code(self.source.lines[first - 1]):
            first -= 1
        return first

    def _read(self, block: list[ast.stmt], number: int) -> None:
        """Read a statement, those that share its lines, and its comments."""
        lines, newline, heads = self.source.lines, self.source.newline, list[str]()
        low, high = _shared(block, number)
        if block is self.source.tree.body:
            first = first_line(block[low]) - 1 - comments_above(self.source, block[low])
        else:
            first = self._first_inside(block, low)
            heads = [f"{self._unit * depth}if 1:{newline}" for depth in range(self._depth(block[low]))]
        end, inside = block[high].end_lineno or 0, block[low : high + 1]
        text = "".join([*heads, *lines[first:end]])
        try:
            module = cst.parse_module(text, cst.PartialParserConfig(default_newline=newline))
            code = module.code
            if code != text:
                rows = zip(text.split("\n"), code.split("\n"), strict=False)
                wrong = next((n for n, (a, b) in enumerate(rows) if a != b), 0)
                raise TextNotPreserved(first + 1 + max(0, wrong - len(heads)))
            chunk = Chunk(first, end, inside, heads, _with_header_below(module))
            self.chunks.append(chunk)
            self._pair(inside, chunk)
        except (cst.ParserSyntaxError, RecursionError, Unpaired, ValueError, AttributeError):
            raise TextNotPreserved(first + 1) from None

    def _pair(self, inside: Sequence[ast.stmt], chunk: Chunk) -> None:
        around: list[Any] = chunk.around(chunk.module)
        self.todo.entered.update(around)
        for statement, node, way in pairs(inside, around[-1].body, self._touched):
            self.todo.entered.update((node, *way))
            self.nodes[statement] = node
            self.lines[statement] = way[-1]
            self.todo.statements[way[-1]] = statement
            names, calls = paired(statement, node)
            self.names.update(names)
            self.calls.update(calls)
            self.around.update(dict.fromkeys(names, statement))

    def name(self, node: ast.Name) -> cst.Name:
        """A name's node; that of the name at its place, for one that only stands for it."""
        if node in self.names:
            return self.names[node]
        place = (node.lineno, node.col_offset, node.id)
        found = self.names.items()
        return next(other for name, other in found if (name.lineno, name.col_offset, name.id) == place)

    # What is to be done

    @property
    def taken(self) -> dict[ast.stmt, cst.BaseStatement]:
        """Nodes taken out, as they became by all that was to be done."""
        assert self._codes is not None
        return self.todo.taken

    def change(self, node: cst.CSTNode, how: Change) -> None:
        """Change a node once everything in it is changed."""
        self.todo.changes[node].append(how)

    def take_out(self, statement: ast.stmt) -> None:
        """Take a statement out of its block, with the comments above, to be found in ``taken``."""
        self.todo.gone.add(statement)

    def cut(self, statement: ast.stmt) -> None:
        """Take a whole top-level statement out of the file, with its comments; ``taken`` has it."""
        self.todo.cut.add(statement)

    def delete(self, statement: ast.stmt) -> None:
        """Take a top-level statement that shares no line out of the file, with its comments."""
        first = first_line(statement) - 1 - comments_above(self.source, statement)
        self.todo.deleted.append((first, statement.end_lineno or 0))

    def before(self, statement: ast.stmt, make: Made) -> None:
        """Put statements before another, between it and what stands above."""
        self.todo.before[statement].append(make)

    def after(self, statement: ast.stmt, make: Made) -> None:
        """Put statements directly after another."""
        self.todo.after[statement].append(make)

    def above(self, statement: ast.stmt, texts: Sequence[str]) -> None:
        """Put definitions before a statement and its own comments, with blank lines between."""
        gap = self.source.newline * (2 if statement in self.source.tree.body else 1)
        line = first_line(statement) - 1 - comments_above(self.source, statement)
        line = next((c.first for c in self.chunks if statement in c.statements), line)
        self.insert(line, "".join(text + gap for text in texts))

    def insert(self, line: int, text: str) -> None:
        """Put new statements before a line (from 0)."""
        self.todo.places.append((line, text))

    def take_names(self, statement: ast.Nonlocal, gone: Collection[str]) -> None:
        """Take names out of a nonlocal declaration; one that would be empty is a ``pass``."""

        left = [cst.NameItem(cst.Name(name)) for name in statement.names if name not in gone]

        def change(node: Any) -> cst.BaseSmallStatement:
            return cst.Nonlocal(left, semicolon=node.semicolon) if left else cst.Pass(node.semicolon)

        line = self.lines[statement]
        alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        if alone and "#" not in cst.Module([]).code_for_node(line) and not left:
            self.take_out(statement)
        else:
            self.change(self.nodes[statement], change)

    # Carrying it out

    @cached_property
    def _codes(self) -> list[tuple[Chunk, str]]:
        """The chunks with their new texts."""
        self._fill()
        found = []
        for chunk in self.chunks:
            try:
                found.append((chunk, self._code_of(chunk)))
            except RecursionError:
                raise TextNotPreserved(chunk.first + 1) from None
        return found

    def _fill(self) -> None:
        """A block begins with a statement; a text that was not its first is no docstring."""
        gone = self.todo.gone
        for node in statements_in(self.source.tree) if gone else ():
            for block in blocks_of(node):
                left = [statement for statement in block if statement not in gone]
                if block and block[0] in gone and (not left or documentation(left) is not None):
                    self.todo.filled.add(block[0])
                elif block[:1] != left[:1]:
                    self.todo.first.update(block[: block.index(left[0]) + 1])

    def text(self) -> str:
        """The new text."""
        splices = [(line, line, text) for line, text in self.todo.places]
        splices += [(first, self._end_with_blank_lines(first, end), "") for first, end in self.todo.deleted]
        starts, lines = self.source.starts, self.source.lines
        following = [*(chunk.first for chunk in self.chunks[1:]), len(lines)]
        for (chunk, code), below in zip(self._codes, following, strict=False):
            end = chunk.end
            if not code and self.todo.first.issuperset(chunk.statements):
                end += len([*itertools.takewhile(str.isspace, lines[end:below])])
            if whole := [statement for statement in chunk.statements if statement in self.todo.cut]:
                if len(whole) < len(chunk.statements):
                    raise TextNotPreserved(chunk.first + 1)
                code, end = "", self._end_with_blank_lines(chunk.first, chunk.end)
            splices.append((chunk.first, end, code))
        parts, at = list[str](), 0
        for first, end, text in sorted(splices, key=lambda splice: (splice[0], splice[1])):
            if first < at:
                raise TextNotPreserved(first + 1)
            parts += [self.source.text[starts[at] : starts[first]], text]
            at = end
        whole_text = "".join([*parts, self.source.text[starts[at] :]])
        if (self.todo.cut or self.todo.deleted) and at == len(lines):
            return whole_text.rstrip("\r\n") + self.source.newline
        return whole_text

    def _end_with_blank_lines(self, first: int, end: int) -> int:
        """The end of lines that go, with the blank ones below that set them apart, if as many are above."""
        lines = self.source.lines
        while first and not lines[first - 1].strip() and end < len(lines) and not lines[end].strip():
            first, end = first - 1, end + 1
        return end

    def _code_of(self, chunk: Chunk) -> str:
        """The new text of a chunk."""
        made = chunk.module.visit(Pass(self.todo))
        assert isinstance(made, cst.Module)
        if not chunk.heads:
            return made.code
        block: Any = chunk.around(made)[-1]
        return made.code.removeprefix("".join(chunk.heads)) if block.body else ""

    def module_of(self, statement: ast.stmt) -> cst.Module:
        """The tree that a statement was part of."""
        row = statement.lineno
        return next(chunk.module for chunk in self.chunks if chunk.first < row <= chunk.end)

    def code(self, node: cst.BaseStatement, statement: ast.stmt, indent: str = "") -> str:
        """The text of a statement in the manner of where another was, at some indentation."""
        module = self.module_of(statement)
        if indent:
            block = cst.IndentedBlock([node], indent=indent)
            text = module.code_for_node(block).removeprefix(module.default_newline)
        else:
            text = module.code_for_node(node)
        return text if text.endswith(("\n", "\r")) else text + self.source.newline


def _shared(block: Sequence[ast.stmt], number: int) -> tuple[int, int]:
    """The first and the last of the statements of a block that share lines with one."""
    low, high = number, number
    while low and (block[low - 1].end_lineno or 0) >= first_line(block[low]):
        low -= 1
    while high + 1 < len(block) and first_line(block[high + 1]) <= (block[high].end_lineno or 0):
        high += 1
    return low, high


def _is_no_code(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _with_header_below(module: cst.Module) -> cst.Module:
    """A module whose first statement has the lines above it."""
    first, *others = module.body
    lead = [*module.header, *getattr(first, "leading_lines", ())]
    if not lead:
        return module
    return module.with_changes(header=[], body=[first.with_changes(leading_lines=lead), *others])


def with_absolute_imports(
    source: Source,
    touched: Iterable[ast.AST],
    trees: Iterable[ast.AST],
    package: str | None,
) -> Program:
    """A file to be rewritten, where relative imports in some trees become absolute, if its package is known.

    Raises:
        TextNotPreserved: as `Program`.
    """
    found = (node for tree in trees if package is not None for node in statements_in(tree))
    imports = [node for node in found if isinstance(node, ast.ImportFrom) and node.level]
    program = Program(source, [*touched, *imports])
    for statement in imports:
        name = imported_module(statement, package or "")
        program.change(program.nodes[statement], partial(_named, name=name))
    return program


def _named(node: cst.ImportFrom, name: str) -> cst.ImportFrom:
    module = cst.parse_expression(name)
    return node.with_changes(relative=(), module=module, whitespace_after_from=BLANK)
