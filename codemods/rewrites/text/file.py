"""A file whose touched top-level statements are libcst trees; all others keep their bytes.

A rewrite says what it changes in terms of ast nodes, of which it knows everything. One pass over the touched
paths then carries it all out.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import libcst as cst

from codemods.program.imports import imported_module
from codemods.program.nodes import first_line
from codemods.program.source import Source, all_blocks, statements_in
from codemods.rewrites.text.blocks import Added, Change, Made, Pass, Place, Todo
from codemods.rewrites.text.layout import BLANK, comments_above
from codemods.rewrites.text.lockstep import Unpaired, paired, pairs


class TextNotPreserved(Exception):
    """A text that libcst would not write back as it is."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} can't be kept as it is written; format the file")
        self.line = line


@dataclass(eq=False, slots=True)
class Chunk:
    """Lines of top-level statements that share them (from 0, without the end), and their tree."""

    first: int
    end: int
    statements: list[ast.stmt]
    module: cst.Module


class Program:
    """One file to be rewritten."""

    def __init__(self, source: Source, touched: Iterable[ast.AST], around: Iterable[ast.AST] = ()) -> None:
        """``touched`` are nodes that change; ``around`` are statements beside which something is put.

        Raises:
            TextNotPreserved: if one of them can't be.
        """
        self.source = source
        self._rows = sorted({node.lineno for node in (*touched, *around) if hasattr(node, "lineno")})
        self.nodes: dict[ast.stmt, cst.CSTNode] = {}
        self.lines: dict[ast.stmt, cst.CSTNode] = {}
        self.names: dict[ast.Name, cst.Name] = {}
        self.calls: dict[ast.Name, cst.Call] = {}
        self.around: dict[ast.Name, ast.stmt] = {}
        self.chunks: list[Chunk] = []
        self.todo = Todo(frozenset(source.tree.body))
        for number, statement in enumerate(source.tree.body):
            if self._touched(statement) and not (self.chunks and statement in self.chunks[-1].statements):
                self._read(number)

    # What is there

    def _touched(self, statement: ast.stmt) -> bool:
        at = bisect.bisect_left(self._rows, first_line(statement))
        return at < len(self._rows) and self._rows[at] <= (statement.end_lineno or 0)

    def _read(self, number: int) -> None:
        """Read a top-level statement, those that share its lines, and its own comments."""
        body, lines = self.source.tree.body, self.source.lines
        low, high = number, number
        while low and (body[low - 1].end_lineno or 0) >= first_line(body[low]):
            low -= 1
        while high + 1 < len(body) and first_line(body[high + 1]) <= (body[high].end_lineno or 0):
            high += 1
        first = first_line(body[low]) - 1 - comments_above(self.source, body[low])
        end, inside = body[high].end_lineno or 0, body[low : high + 1]
        text = "".join(lines[first:end])
        try:
            module = cst.parse_module(text, cst.PartialParserConfig(default_newline=self.source.newline))
            code = module.code
            if code != text:
                rows = zip(text.split("\n"), code.split("\n"), strict=False)
                raise TextNotPreserved(first + 1 + next((n for n, (a, b) in enumerate(rows) if a != b), 0))
            module = _with_header_below(module)
            self.chunks.append(Chunk(first, end, inside, module))
            self._pair(inside, module)
        except (cst.ParserSyntaxError, RecursionError, Unpaired, ValueError, AttributeError):
            raise TextNotPreserved(first + 1) from None

    def _pair(self, inside: Sequence[ast.stmt], module: cst.Module) -> None:
        self.todo.entered.add(module)
        for statement, node, way in pairs(inside, module.body, self._touched):
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
    def taken(self) -> dict[ast.stmt, cst.CSTNode]:
        """Nodes taken out, as they became."""
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

    def before(self, statement: ast.stmt, make: Made, *, count: int = 1, apart: bool = False) -> None:
        """Put statements before another, between it and what stands above; ``apart``: with blank lines."""
        self.todo.before[statement].append(Added(make, count, apart))

    def after(self, statement: ast.stmt, make: Made, *, count: int = 1) -> None:
        """Put statements directly after another."""
        self.todo.after[statement].append(Added(make, count, False))

    def insert(self, line: int, text: str, count: int) -> None:
        """Put new statements of the top level before a line (from 0)."""
        if text:
            self.todo.places.append(Place(line, text, count))

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

    def text(self) -> str:
        """The new text."""
        splices = [(place.line, place.line, place.text) for place in self.todo.places]
        starts, lines = self.source.starts, self.source.lines
        for chunk in self.chunks:
            try:
                made = chunk.module.visit(Pass(self.todo))
                assert isinstance(made, cst.Module)
                code = made.code
            except RecursionError:
                raise TextNotPreserved(chunk.first + 1) from None
            end = chunk.end
            if whole := [statement for statement in chunk.statements if statement in self.todo.cut]:
                if len(whole) < len(chunk.statements):
                    raise TextNotPreserved(chunk.first + 1)
                # The blank lines that set it apart go too, as far as there are as many above.
                code, above = "", chunk.first
                while above and not lines[above - 1].strip() and end < len(lines) and not lines[end].strip():
                    above, end = above - 1, end + 1
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

    def module_of(self, statement: ast.stmt) -> cst.Module:
        """The tree that a statement was part of."""
        row = statement.lineno
        return next(chunk.module for chunk in self.chunks if chunk.first < row <= chunk.end)

    def code(self, node: cst.CSTNode, statement: ast.stmt) -> str:
        """The text of a statement in the manner of where another was."""
        text = self.module_of(statement).code_for_node(node)
        return text if text.endswith(("\n", "\r")) else text + self.source.newline

    def pairs(self, made: ast.Module) -> list[tuple[ast.stmt, ast.stmt]]:
        """Statements of the new text, with those that they come from."""
        return list(self._paired(self.source.tree.body, made.body, top=True))

    def _paired(
        self, before: Sequence[ast.stmt], after: Sequence[ast.stmt], *, top: bool = False
    ) -> Iterator[tuple[ast.stmt, ast.stmt]]:
        new = iter(after)
        places = sorted(self.todo.places, key=lambda place: place.line) if top else []
        for statement in before:
            while places and places[0].line < first_line(statement):
                _skip(new, places.pop(0).count)
            _skip(new, sum(added.count for added in self.todo.before.get(statement, ())))
            if statement in self.todo.gone or statement in self.todo.cut:
                continue
            found = next(new)
            yield found, statement
            for one, other in zip(all_blocks(statement), all_blocks(found), strict=True):
                yield from self._paired(one, other)
            _skip(new, sum(added.count for added in self.todo.after.get(statement, ())))


def _skip(statements: Iterator[ast.stmt], count: int) -> None:
    for _ in range(count):
        next(statements)


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
    around: Iterable[ast.AST] = (),
) -> Program:
    """A file to be rewritten, where relative imports in some trees become absolute, if its package is known.

    Raises:
        TextNotPreserved: as `Program`.
    """
    found = (node for tree in trees if package is not None for node in statements_in(tree))
    imports = [node for node in found if isinstance(node, ast.ImportFrom) and node.level]
    program = Program(source, [*touched, *imports], around)
    for statement in imports:
        name = imported_module(statement, package or "")
        program.change(program.nodes[statement], partial(_named, name=name))
    return program


def _named(node: cst.ImportFrom, name: str) -> cst.ImportFrom:
    module = cst.parse_expression(name)
    return node.with_changes(relative=(), module=module, whitespace_after_from=BLANK)
