"""A file whose touched statements are libcst trees; all others keep their bytes.

In a statement that has touched ones inside, a placeholder stands for each run of others: libcst takes longer
than all else together to read a function of some thousand lines.

A rewrite says what it changes in terms of ast nodes, of which it knows everything. One pass over the touched
paths then carries it all out.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
    """Lines of statements of the top level that share them (from 0, without the end), and their tree."""

    first: int
    end: int
    statements: list[ast.stmt]
    module: cst.Module


class Placeholders:
    """Names that stand for statements; ``hidden`` are those that stand below another's, under its name."""

    def __init__(self, source: Source, touched: Callable[[int, int], bool]) -> None:
        self.hidden = set[ast.stmt]()
        self._source = source
        self._touched = touched
        self._name = "kept_as_it_is_"
        while self._name in source.text:
            self._name += "_"
        self._texts: list[str] = []

    def put(self, statements: Sequence[ast.stmt], first: int, end: int) -> str:
        """Lines (from 0) of statements, with placeholders for what stays as it is inside."""
        lines, parts = self._source.lines, list[str]()
        runs = [run for each in statements for run in self._runs(each)]
        for run in sorted(runs, key=lambda run: run[0].lineno):
            low, high = first_line(run[0]) - 1, run[-1].end_lineno or 0
            text, indent = "".join(lines[low:high]), indentation(self._source, low + 1)
            kept = text.rstrip("\r\n")
            parts += [*lines[first:low], f"{indent}{self._name}{len(self._texts)}{text[len(kept) :]}"]
            self._texts.append(kept[len(indent) :])
            self.hidden.update(run[1:])
            first = high
        return "".join([*parts, *lines[first:end]])

    def _runs(self, statement: ast.stmt) -> Iterator[list[ast.stmt]]:
        """Neighbours inside a statement that have lines of their own and stay; none if its head is touched,
        for then it may go elsewhere as a whole.
        """
        blocks = [block for block in all_blocks(statement) if block]
        head = max(statement.lineno, first_line(blocks[0][0]) - 1) if blocks else 0
        if self._touched(first_line(statement), head):
            return
        for block in blocks:
            run = list[ast.stmt]()
            for each in block:
                row, at = self._source.lines[each.lineno - 1], each.col_offset
                stays = not self._touched(first_line(each), each.end_lineno or 0)
                elif_ = isinstance(each, ast.If) and row.startswith("elif", at)
                if stays and not elif_ and (run or not row[:at].strip(" \t")):
                    run.append(each)
                else:
                    yield from [run] if run else []
                    yield from self._runs(each)
                    run = []
            yield from [run] if run else []

    def filled(self, text: str) -> str:
        """A text with what the placeholders stand for."""
        alone = re.compile(rf"(?<![^\r\n])([ \t]*){self._name}(\d+)(?![^\r\n])")
        return alone.sub(lambda found: found[1] + self._texts[int(found[2])], text)


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
        self.chunks: list[Chunk] = []
        self.todo = Todo()
        self.placeholders = Placeholders(source, self._on)
        for number, statement in enumerate(source.tree.body):
            if self._touched(statement) and not (self.chunks and statement in self.chunks[-1].statements):
                self._read(number)

    # What is there

    def _touched(self, statement: ast.stmt) -> bool:
        """Tell whether something on a statement's lines is touched."""
        return self._on(first_line(statement), statement.end_lineno or 0)

    def _on(self, first: int, last: int) -> bool:
        """Tell whether something on lines (from 1, with the last) is touched."""
        return bisect.bisect_left(self._rows, first) < bisect.bisect_right(self._rows, last)

    def _read(self, number: int) -> None:
        """Read a statement, those that share its lines, and its comments."""
        block, newline = self.source.tree.body, self.source.newline
        low, high = _shared(block, number)
        first = first_line(block[low]) - 1 - comments_above(self.source, block[low])
        end, inside = block[high].end_lineno or 0, block[low : high + 1]
        text = self.placeholders.put(inside, first, end)
        try:
            module = cst.parse_module(text, cst.PartialParserConfig(default_newline=newline))
            if (code := module.code) != text:
                rows, written = text.split("\n"), code.split("\n")
                same = next((n for n, (a, b) in enumerate(zip(rows, written, strict=False)) if a != b), 0)
                above = self.placeholders.filled("\n".join([*rows[:same], ""]))
                raise TextNotPreserved(first + 1 + above.count("\n"))
            chunk = Chunk(first, end, inside, _with_header_below(module))
            self.chunks.append(chunk)
            self._pair(inside, chunk)
        except (SyntaxError, cst.ParserSyntaxError, RecursionError, Unpaired, ValueError, AttributeError):
            raise TextNotPreserved(first + 1) from None

    def _pair(self, inside: Sequence[ast.stmt], chunk: Chunk) -> None:
        hidden = self.placeholders.hidden
        for statement, node, line in pairs(inside, chunk.module.body, self._touched, hidden):
            self.nodes[statement] = node
            self.lines[statement] = line
            self.todo.statements[line] = statement
            names, calls = paired(statement, node)
            self.names.update(names)
            self.calls.update(calls)

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

    def before(self, statement: ast.stmt, make: Made) -> None:
        """Put statements before another, between it and what stands above."""
        self.todo.before[statement].append(make)

    def after(self, statement: ast.stmt, make: Made) -> None:
        """Put statements directly after another."""
        self.todo.after[statement].append(make)

    def above(self, statement: ast.stmt, texts: Sequence[str]) -> None:
        """Put definitions before a touched statement of the top level and its own comments."""
        line = next(chunk.first for chunk in self.chunks if statement in chunk.statements)
        self.insert(line, "".join(text + self.source.newline * 2 for text in texts))

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
                code = chunk.module.visit(Pass(self.todo)).code
                found.append((chunk, self.placeholders.filled(code)))
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

    def text(self) -> str:
        """The new text."""
        splices = [(line, line, text) for line, text in self.todo.places]
        starts, lines = self.source.starts, self.source.lines
        for chunk, code in self._codes:
            end = chunk.end
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
        if self.todo.cut and at == len(lines):
            return whole_text.rstrip("\r\n") + self.source.newline
        return whole_text

    def _end_with_blank_lines(self, first: int, end: int) -> int:
        """The end of lines that go, with the blank ones below that set them apart, if as many are above."""
        lines = self.source.lines
        while first and not lines[first - 1].strip() and end < len(lines) and not lines[end].strip():
            first, end = first - 1, end + 1
        return end

    def code(self, node: cst.BaseStatement, statement: ast.stmt) -> str:
        """The text of a statement at the top level, in the manner of the tree that another was part of."""
        row = statement.lineno
        module = next(chunk.module for chunk in self.chunks if chunk.first < row <= chunk.end)
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
