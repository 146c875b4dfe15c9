"""A file whose touched top-level statements are libcst trees; all others keep their bytes.

A rewrite says what it changes in terms of ast nodes, of which it knows everything. One pass over the touched
paths then carries it all out.
"""

from __future__ import annotations

import ast
import bisect
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import libcst as cst

from codemods.program.imports import imported_module
from codemods.program.nodes import first_line
from codemods.program.source import Source, all_blocks, statements_in
from codemods.rewrites.text.blocks import Added, Change, Made, Pass, Place, Todo
from codemods.rewrites.text.deep import deep
from codemods.rewrites.text.layout import BLANK, comments_above
from codemods.rewrites.text.lockstep import Paired, Unpaired, paired, pairs
from codemods.rewrites.text.spare import Spared, spare


class TextNotPreserved(Exception):
    """A text that libcst would not write back as it is."""

    def __init__(self, line: int) -> None:
        super().__init__(f"libcst would write line {line} differently")
        self.line = line


@dataclass(eq=False, slots=True)
class Chunk:
    """Lines of top-level statements (from 0, without the end), and their tree, in which names stand for
    statements that nothing touches.
    """

    first: int
    end: int
    statements: list[ast.stmt]
    spared: Spared
    module: cst.Module


class Program:
    """One file to be rewritten."""

    def __init__(self, source: Source, touched: Iterable[ast.AST], around: Iterable[ast.AST] = ()) -> None:
        """``touched`` are nodes that will be changed, statements as a whole; ``around`` are statements beside
        or in which something will be.

        Raises:
            TextNotPreserved: if one of them can't be.
        """
        self.source = source
        changed = set(touched)
        self._whole = frozenset(node for node in changed if isinstance(node, ast.stmt))
        self._rows = sorted({node.lineno for node in (*changed, *around) if hasattr(node, "lineno")})
        self._returns = source.newline == "\r" and "\n" not in source.text
        self.nodes: dict[ast.stmt, cst.CSTNode] = {}
        self.found = Paired()
        self.lines: dict[ast.stmt, cst.CSTNode] = {}
        self.around: dict[ast.Name, ast.stmt] = {}
        self.chunks: list[Chunk] = []
        self.todo = Todo()
        deep(self._parse)

    # What is there

    def _parse(self) -> None:
        body = self.source.tree.body
        waiting = [statement for statement in body if self._touched(statement)]
        for statement in waiting:
            if self.chunks and statement in self.chunks[-1].statements:
                continue
            first, end, inside = self._extent(body.index(statement))
            spared = spare(self.source, first, end, inside, self._touched, self._whole)
            text = self.inside(spared.text)
            config = cst.PartialParserConfig(default_newline=self.inside(self.source.newline))
            try:
                module = cst.parse_module(text, config)
            except cst.ParserSyntaxError:
                raise TextNotPreserved(first + 1) from None
            if (code := module.code) != text:
                lines = zip(text.split("\n"), code.split("\n"), strict=False)
                same = next((n for n, (one, other) in enumerate(lines) if one != other), 0)
                raise TextNotPreserved(spared.rows[min(same, len(spared.rows) - 1)] + 1)
            module = _with_header_below(module)
            self.chunks.append(Chunk(first, end, inside, spared, module))
            try:
                self._pair(inside, module)
            except (Unpaired, ValueError, AttributeError):
                raise TextNotPreserved(first + 1) from None

    def inside(self, text: str) -> str:
        """A text as it is in the trees: libcst loses a lone carriage return at the end of a line."""
        return text.replace("\r", "\n") if self._returns else text

    def outside(self, text: str) -> str:
        """A text of the trees as it is in the file."""
        return text.replace("\n", "\r") if self._returns else text

    def _touched(self, statement: ast.stmt) -> bool:
        at = bisect.bisect_left(self._rows, first_line(statement))
        return at < len(self._rows) and self._rows[at] <= (statement.end_lineno or 0)

    def _extent(self, number: int) -> tuple[int, int, list[ast.stmt]]:
        """The lines of a top-level statement and those that share them, with its own comments."""
        body, lines = self.source.tree.body, self.source.lines
        low, high = number, number
        while low and (body[low - 1].end_lineno or 0) >= first_line(body[low]):
            low -= 1
        while high + 1 < len(body) and first_line(body[high + 1]) <= (body[high].end_lineno or 0):
            high += 1
        first, end = first_line(body[low]) - 1, body[high].end_lineno or 0
        first -= comments_above(self.source, body[low])
        for number in range(end, len(lines)):
            if lines[number].strip():
                if not (lines[number][0] in " \t" and lines[number].lstrip(" \t").startswith("#")):
                    break
                end = number + 1
        return first, end, body[low : high + 1]

    def _pair(self, inside: Sequence[ast.stmt], module: cst.Module) -> None:
        self.todo.entered.add(module)
        for statement, node, way in pairs(inside, module.body, self._touched):
            self.todo.entered.update((node, *way))
            self.nodes[statement] = node
            self.lines[statement] = way[-1]
            self.todo.statements[way[-1]] = statement
            found = paired(statement, node)
            self.found.update(found)
            self.around.update(dict.fromkeys(found.names, statement))

    def name(self, node: ast.Name) -> cst.Name:
        """A name's node; that of the name at its place, for one that only stands for it."""
        if node in self.found.names:
            return self.found.names[node]
        place = (node.lineno, node.col_offset, node.id)
        return next(
            other
            for name, other in self.found.names.items()
            if (name.lineno, name.col_offset, name.id) == place
        )

    # What is to be done

    @property
    def taken(self) -> dict[ast.stmt, cst.CSTNode]:
        """What was taken out, as it became."""
        return self.todo.taken

    def change(self, node: cst.CSTNode, how: Change) -> None:
        """Change a node once everything in it is changed."""
        self.todo.changes[node].append(how)

    def take_out(self, statement: ast.stmt) -> None:
        """Take a definition out of its block, with its comments, to be found in ``taken``."""
        self.todo.gone[statement] = True

    def drop(self, statement: ast.stmt) -> None:
        """Take a statement out of its block; the comments above stay."""
        self.todo.gone[statement] = False

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

    # Carrying it out

    def text(self) -> str:
        """The new text."""
        return deep(self._text)

    def _text(self) -> str:
        splices: list[tuple[int, int, str | None]] = [(p.line, p.line, p.text) for p in self.todo.places]
        starts, lines = self.source.starts, self.source.lines
        for chunk in self.chunks:
            made = chunk.module.visit(Pass(self.todo, self.source, chunk.first))
            assert isinstance(made, cst.Module)
            whole = [statement for statement in chunk.statements if statement in self.todo.cut]
            if whole and len(whole) < len(chunk.statements):
                raise TextNotPreserved(chunk.first + 1)
            if not whole:
                code = chunk.spared.restored(made.code)
                if code is None:
                    raise TextNotPreserved(chunk.first + 1)
                splices.append((chunk.first, chunk.end, self.outside(code)))
                continue
            # The blank lines that set it apart go too, as far as there are as many above.
            after = chunk.end
            while after < len(lines) and not lines[after].strip():
                after += 1
            splices.append((chunk.first, after, None))
        parts, at = list[str](), 0
        for first, end, text in sorted(splices, key=lambda splice: (splice[0], splice[1])):
            if first < at:
                raise TextNotPreserved(first + 1)
            parts.append(self.source.text[starts[at] : starts[first]])
            if text is None:
                blank = end
                while not lines[blank - 1].strip():
                    blank -= 1
                text = "".join(lines[blank:end][_blank_rows_above("".join(parts)) :])
            parts.append(text)
            at = end
        return "".join([*parts, self.source.text[starts[at] :]])

    def module_of(self, statement: ast.stmt) -> cst.Module:
        """The tree that a statement was part of."""
        return self._chunk_of(statement).module

    def _chunk_of(self, statement: ast.stmt) -> Chunk:
        row = statement.lineno
        return next(chunk for chunk in self.chunks if chunk.first < row <= chunk.end)

    def code(self, node: cst.CSTNode, statement: ast.stmt) -> str:
        """The text of a statement that was touched as a whole, in the manner of where a statement was.

        Raises:
            TextNotPreserved: if it was not.
        """
        chunk = self._chunk_of(statement)
        text = deep(lambda: chunk.module.code_for_node(node))
        if chunk.spared.holds(text):
            raise TextNotPreserved(statement.lineno)
        text = self.outside(text)
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


def _blank_rows_above(text: str) -> int:
    """How many blank lines a text ends with; where there is no text, none are needed."""
    rows = text.splitlines()
    return next((number for number, row in enumerate(reversed(rows)) if row.strip()), sys.maxsize)


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
