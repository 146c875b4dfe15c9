"""The mutants of a file, on lines that runs may execute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst
import xxhash
from libcst import matchers as m

from golden.mutate.operators import OPERATORS, Operator
from golden.mutate.source import Edit, Source
from golden.reach.changes import compiled, runnable

# Nothing in these runs, or nobody's result depends on it.
_SKIPPED = (cst.Annotation, cst.Import, cst.ImportFrom, cst.Assert, cst.TypeParameters, cst.TypeAlias)
_MAIN = m.Comparison(left=m.Name("__name__"))
_DOCSTRING = m.Expr(value=m.SimpleString() | m.ConcatenatedString())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file with one small mistake in it.

    ``name`` stays when lines above it move. ``first`` and ``last`` are the lines of its statement, ``line``
    is its own, ``before`` and ``after`` that line as it was and is. One of the lines that it ``needs`` must
    run for it to show; ``runs`` are the golden runs that execute one.
    """

    name: str
    path: str
    first: int
    last: int
    line: int
    scope: str
    operator: str
    before: str
    after: str
    edit: Edit
    needs: frozenset[int] = frozenset()
    runs: tuple[str, ...] = ()

    def applied(self, data: bytes) -> bytes:
        """Return the file with the mistake."""
        return self.edit.applied(data)


@dataclass(frozen=True, slots=True)
class _Place:
    """A statement: its lines, those of them that must run, the function that it stands in."""

    first: int
    last: int
    needs: frozenset[int]
    scope: tuple[str, ...]


def mutants(path: str, data: bytes) -> Iterator[Mutant]:
    """Give all that the operators make of a file; nothing of one that is no Python in UTF-8."""
    try:
        source = Source(data)
    except (cst.ParserSyntaxError, UnicodeError, LookupError, SyntaxError, ValueError, RecursionError):
        return
    instructions = compiled(source.module.code)
    if instructions is None:
        return
    code = runnable(instructions)
    seen = dict[str, int]()
    for place, operator, edit in _walk(source, code):
        before, after = _told(source.data, edit)
        if before == after:
            continue
        scope = ".".join(place.scope)
        identity = f"{path}\0{scope}\0{operator.__name__}\0{before}\0{after}"
        count = seen[identity] = seen.get(identity, -1) + 1
        yield Mutant(
            name=xxhash.xxh3_64_hexdigest(f"{identity}\0{count}".encode())[:12],
            path=path,
            first=place.first,
            last=place.last,
            line=source.line(edit.start),
            scope=scope,
            operator=operator.__name__,
            before=before,
            after=after,
            edit=edit,
            needs=place.needs,
        )


def _walk(source: Source, code: frozenset[int]) -> Iterator[tuple[_Place, Operator, Edit]]:
    waiting: list[tuple[cst.CSTNode, _Place]] = [(source.module, _Place(1, 1, frozenset(), ()))]
    while waiting:
        node, outer = waiting.pop()
        if isinstance(node, _SKIPPED) or m.matches(node, _MAIN | _DOCSTRING):
            continue
        place = _place(node, outer, source, code)
        for operator in OPERATORS:
            for edit in operator(node, source):
                yield _of_edit(node, edit, place, source, code), operator, edit
        inner = place
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            inner = _Place(place.first, place.last, place.needs, (*place.scope, node.name.value))
        waiting += [
            (child, inner if isinstance(child, cst.BaseSuite) else place) for child in reversed(node.children)
        ]


def _place(node: cst.CSTNode, outer: _Place, source: Source, code: frozenset[int]) -> _Place:
    if isinstance(node, cst.SimpleStatementLine):
        first, last = source.lines(node)
        return _Place(first, last, code.intersection(range(first, last + 1)), outer.scope)
    if isinstance(node, cst.Match):
        first, last = source.lines(node.subject)
        return _Place(first, last, code.intersection(range(first, last + 1)), outer.scope)
    if isinstance(
        node, cst.BaseCompoundStatement | cst.MatchCase | cst.ExceptHandler | cst.ExceptStarHandler
    ):
        first = source.lines(node)[0]
        body = source.lines(node.body)
        last = max(first, body[0] - 1) if isinstance(node.body, cst.IndentedBlock) else first
        needed = range(first, last + 1)
        if isinstance(node, cst.FunctionDef):
            # A default means nothing while nobody calls the function.
            needed = range(body[0], body[1] + 1)
        return _Place(first, last, code.intersection(needed), outer.scope)
    return outer


def _of_edit(node: cst.CSTNode, edit: Edit, place: _Place, source: Source, code: frozenset[int]) -> _Place:
    """Return the lines of an edit, and those that must run: of several statements the first."""
    first, last = source.line(edit.start), source.line(max(edit.start, edit.end - 1))
    if isinstance(node, cst.IndentedBlock | cst.Module):
        return _Place(first, last, code & {first}, place.scope)
    # A part of a long expression may be left out, as in a conditional one.
    own = place.needs.intersection(range(first, last + 1))
    return replace(place, needs=own) if own else place


def _told(data: bytes, edit: Edit) -> tuple[str, str]:
    """Return the statement's lines around an edit, without and with it, each as one line."""
    start = data.rfind(b"\n", 0, edit.start) + 1
    end = data.find(b"\n", edit.end)
    stop = len(data) if end < 0 else end
    old, new = data[start:stop], data[start : edit.start] + edit.text + data[edit.end : stop]
    return _one_line(old.decode()), _one_line(new.decode())


def _one_line(text: str) -> str:
    return " ⏎ ".join(line.strip() for line in text.splitlines() if line.strip())
