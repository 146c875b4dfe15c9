"""What importing a module runs, in order, through the files of the change; names that are read too early."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property

from codemods.facts.loading import Loading as Others
from codemods.facts.loading import Run
from codemods.facts.quiet import QUIET
from codemods.review.acts import Acting
from codemods.review.content import Function
from codemods.review.normal import normalised, written
from codemods.review.side import OF_A_MODULE, File, Side
from codemods.review.units import Unit, for_types


@dataclass(frozen=True, slots=True)
class Step:
    """Something that runs: a statement as a text, or a module outside the change that is imported."""

    label: str
    path: str
    first: int
    last: int
    module: str = ""


@dataclass(frozen=True, slots=True)
class TooEarly:
    """A name that may be read before its module has bound it."""

    path: str
    name: str
    read_in: str
    first: int
    last: int
    unbound: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """A part of what importing a file does, worked out once.

    ``position`` counts the statements before it; ``load`` is a file of the change, ``outside`` a module that
    is not; what is read ``early`` is so in any case, what is in ``asks`` if its module is being imported.
    """

    position: int
    steps: tuple[Step, ...] = ()
    load: str | None = None
    outside: Step | None = None
    early: tuple[TooEarly, ...] = ()
    asks: tuple[TooEarly, ...] = ()


class Programs:
    """What the files of one side do when they are imported."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._in_full: frozenset[str] = frozenset()
        self._acting = Acting(side)
        self._operations: dict[str, list[Operation]] = {}
        self._imports: dict[str, list[list[Operation]]] = {}
        self._next: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._owned: dict[str, dict[str, list[Unit]]] = {}
        self._first: dict[str, dict[str, int]] = {}
        self._reached: dict[str, set[str]] = {}

    def in_full(self, paths: Collection[str]) -> Programs:
        """These, but of some files every statement is told that reads a name, and nothing else that it does.

        Of a name only the first statement of a file that reads it is told otherwise.
        """
        made = copy(self)
        made._in_full = frozenset(paths)
        made._operations = {path: told for path, told in self._operations.items() if path not in paths}
        return made

    def operations(self, path: str) -> list[Operation]:
        """Those of one file, in order."""
        if path not in self._operations:
            above = self._above.get(path, set()) - {path}
            self._operations[path] = self._of_file(path, above, None if path in self._in_full else {})
        return self._operations[path]

    @cached_property
    def _above(self) -> dict[str, set[str]]:
        """By file those that import it, themselves or through others."""
        found: dict[str, set[str]] = {}
        for other in self.side.changed:
            for path in self._reach(other):
                found.setdefault(path, set()).add(other)
        return found

    def is_bound(self, path: str, name: str, position: int) -> bool:
        """Has a file bound a name when so many of its statements ran?"""
        return self._bound_first(path).get(name, position) < position

    def _bound_first(self, path: str) -> dict[str, int]:
        if path not in self._first:
            places = {id(statement): position for position, statement in enumerate(self._body(path))}
            self._first[path] = {
                name: min(positions)
                for name, nodes in self.side.changed[path].binders.items()
                if (positions := [places[id(node)] for node in nodes if id(node) in places])
            }
        return self._first[path]

    def _body(self, path: str) -> list[ast.stmt]:
        return [statement for statement in self.side.changed[path].tree.body if not for_types(statement)]

    def _reach(self, path: str) -> set[str]:
        """The files of the change that importing one imports."""
        if path not in self._reached:
            found: set[str] = set()
            waiting = [path]
            while waiting:
                here = waiting.pop()
                for each in (operation for operations in self._imports_of(here) for operation in operations):
                    if each.load is not None and each.load not in found:
                        found.add(each.load)
                        waiting.append(each.load)
            self._reached[path] = found
        return self._reached[path]

    def _of_file(
        self, path: str, above: set[str], seen: dict[tuple[str, str], None] | None
    ) -> list[Operation]:
        """With ``seen`` a name is followed for the first statement only that reads it.

        ``above`` are files that may be half imported by then.
        """
        file = self.side.changed[path]
        found: list[Operation] = []
        steps: list[Step] = []
        early: list[TooEarly] = []

        def close(position: int) -> None:
            if steps or early:
                found.append(Operation(position, steps=tuple(steps), early=tuple(early)))
                steps.clear()
                early.clear()

        imports = self._imports_of(path)
        for position, statement in enumerate(self._body(path)):
            if imports[position]:
                close(position)
                found += imports[position]
            if path not in self._in_full and self._acting.acts(file, statement):
                label = statement.name if isinstance(statement, Function | ast.ClassDef) else _text(statement)
                last = statement.end_lineno or statement.lineno
                steps.append(Step(label, path, statement.lineno, last))
            read = list(self._read(file, statement, {} if seen is None else seen))
            early += [
                each for each in read if each.path == path and not self.is_bound(path, each.name, position)
            ]
            if asks := tuple(each for each in read if each.path in above):
                close(position)
                found.append(Operation(position, asks=asks))
        close(len(imports))
        return found

    def _imports_of(self, path: str) -> list[list[Operation]]:
        """The imports of each statement."""
        if path not in self._imports:
            file = self.side.changed[path]
            self._imports[path] = [
                [
                    operation
                    for node in _imports(statement)
                    for operation in self._import(file, node, position)
                ]
                for position, statement in enumerate(self._body(path))
            ]
        return self._imports[path]

    def _import(self, file: File, node: ast.Import | ast.ImportFrom, position: int) -> Iterator[Operation]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._module(file, node, alias.name, position)
            return
        where = self.side.source_of(file.path, node)
        if where is None:
            return
        yield from self._module(file, node, where, position)
        found = self.side.tree.module(where)
        known = self.side.changed[found].bound if found in self.side.changed else ()
        for alias in node.names:
            if found is not None and alias.name in known:
                ask = TooEarly(found, alias.name, file.path, node.lineno, node.end_lineno or 0)
                yield Operation(position, asks=(ask,))
            elif self.side.tree.module(f"{where}.{alias.name}") is not None:
                yield from self._module(file, node, f"{where}.{alias.name}", position)

    def _module(
        self, file: File, node: ast.Import | ast.ImportFrom, dotted: str, position: int
    ) -> Iterator[Operation]:
        """A module and the packages around it."""
        parts = dotted.split(".")
        for count in range(1, len(parts) + 1):
            found = self.side.tree.module(".".join(parts[:count]))
            if found in self.side.changed:
                yield Operation(position, load=found)
            elif (found is not None or count == len(parts)) and not (found is None and parts[0] in QUIET):
                last, name = node.end_lineno or node.lineno, ".".join(parts[:count])
                step = Step(f"module {found or dotted}", file.path, node.lineno, last, name)
                yield Operation(position, outside=step)

    def _read(self, file: File, statement: ast.stmt, seen: dict[tuple[str, str], None]) -> Iterator[TooEarly]:
        """Names of files of the change that a statement reads, and that may not be there yet."""
        last = statement.end_lineno or statement.lineno
        waiting = [(file.path, name) for name in file.read_by(statement)]
        while waiting:
            pair = waiting.pop()
            if pair in seen:
                continue
            seen[pair] = None
            path, name = pair
            if path in self.side.changed:
                there = self.side.changed[path]
                known = hasattr(builtins, name) or name in OF_A_MODULE or "*" in there.bound
                if name in there.bound or not known:
                    unbound = name not in there.bound
                    yield TooEarly(path, name, file.path, statement.lineno, last, unbound)
            waiting += self._follow(pair)

    def _follow(self, pair: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """What else is read where a name is."""
        if pair not in self._next:
            meaning = self.side.meaning(*pair)
            found: tuple[tuple[str, str], ...] = ()
            if isinstance(meaning, Unit) and meaning.kind in ("function", "class"):
                found = tuple((meaning.path, other) for other in self._reads(meaning))
            self._next[pair] = found
        return self._next[pair]

    def _reads(self, unit: Unit) -> Iterator[str]:
        yield from unit.globals
        if unit.kind == "class":
            if unit.path not in self._owned:
                owned = self._owned[unit.path] = {}
                for other in self.side.changed[unit.path].units.values():
                    owned.setdefault(str(other.owner), []).append(other)
            for other in self._owned[unit.path].get(unit.qualname, ()):
                yield from other.globals


@dataclass(slots=True)
class Loading:
    """One import of a file, rehearsed."""

    programs: Programs
    steps: list[Step] = field(default_factory=list)
    early: list[TooEarly] = field(default_factory=list)
    _loaded: set[str] = field(default_factory=set)
    _open: dict[str, int] = field(default_factory=dict)
    _outside: set[str] = field(default_factory=set)

    def load(self, path: str) -> None:
        """Run a file of the change, as its import does."""
        self._loaded.add(path)
        for operation in self.programs.operations(path):
            self._open[path] = operation.position
            self.steps += operation.steps
            self.early += operation.early
            if operation.load is not None and operation.load not in self._loaded:
                self.load(operation.load)
            if operation.outside is not None and operation.outside.label not in self._outside:
                self._outside.add(operation.outside.label)
                self.steps.append(operation.outside)
            for ask in operation.asks:
                position = self._open.get(ask.path)
                if position is not None and not self.programs.is_bound(ask.path, ask.name, position):
                    self.early.append(ask)
        self._open.pop(path, None)


def out_of_order(base: Side, head: Side) -> tuple[list[Step], list[TooEarly]]:
    """What the head runs in another order than the base, and names that it reads too early."""
    moved: dict[Step, None] = {}
    known: set[tuple[str, str]] = set()
    early: dict[str, list[TooEarly]] = {}
    sides = Programs(base), Programs(head)
    for path in sorted(base.changed.keys() & head.changed.keys()):
        before, after = map(Loading, sides)
        before.load(path)
        after.load(path)
        known.update((found.path, found.name) for found in before.early)
        known.update(("", found.name) for found in before.early if found.unbound)
        early[path] = after.early
        steps = list(_moved(before.steps, after.steps))
        if any(step.module for step in steps):
            # Modules that make definitions, and do nothing else, may be loaded in any order.
            steps = list(
                _moved(*(list(_done(loading.steps, loading.programs.side)) for loading in (before, after)))
            )
        moved |= dict.fromkeys(steps)
    for path in sorted(head.changed.keys() - base.changed.keys()):
        early[path] = _unbound(sides[1], path)
    found = {path: _fresh(told, known) for path, told in early.items()}
    # Every statement is named that reads one of them.
    full = sides[1].in_full({each.read_in for told in found.values() for each in told})
    again: list[TooEarly] = []
    for path in (path for path, told in found.items() if told):
        after = Loading(full)
        after.load(path)
        again += after.early if path in base.changed else [each for each in after.early if each.unbound]
    return list(moved), _fresh(again, known)


def _unbound(programs: Programs, path: str) -> list[TooEarly]:
    """Names that a file reads and nothing binds."""
    loading = Loading(programs)
    loading.load(path)
    return [found for found in loading.early if found.unbound]


def _fresh(early: Sequence[TooEarly], known: Collection[tuple[str, str]]) -> list[TooEarly]:
    return [
        found
        for found in dict.fromkeys(early)
        if (found.path, found.name) not in known and not (found.unbound and ("", found.name) in known)
    ]


def _done(steps: Sequence[Step], side: Side) -> Iterator[Step]:
    """Steps, with what loading a module outside the change does in place of its name."""

    def find(dotted: str) -> tuple[bytes, bool] | None:
        found = side.tree.module(dotted)
        if found is None:
            return None
        # Files of the change are rehearsed here already.
        return b"" if found in side.changed else side.tree.read(found), found.endswith("__init__.py")

    run, others = Run(), Others(find)
    for step in steps:
        if not step.module:
            yield step
            continue
        known = len(run.events)
        others.load(step.module, run)
        yield from (replace(step, label=f"module {event}") for event in run.events[known:])


def _moved(before: Sequence[Step], after: Sequence[Step]) -> Iterator[Step]:
    old, new = [step.label for step in before], [step.label for step in after]
    if old == new:
        return
    labels = set(old) & set(new)
    sides = [step for step in before if step.label in labels], [s for s in after if s.label in labels]
    old, new = ([step.label for step in side] for side in sides)
    if old == new:
        return
    for operation, _, _, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation != "equal":
            yield from sides[1][k:m]


def _imports(statement: ast.stmt) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield statement
    elif not isinstance(statement, Function):
        for name in ("body", "orelse", "finalbody", "handlers"):
            for inner in getattr(statement, name, ()):
                if isinstance(inner, ast.ExceptHandler):
                    for below in inner.body:
                        yield from _imports(below)
                elif isinstance(inner, ast.stmt) and not for_types(inner):
                    yield from _imports(inner)


def _text(statement: ast.stmt) -> str:
    return written(normalised(statement))
