"""What importing a module runs, in order, through the files of the change; names that are read too early."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from codemods.facts.loading import Loading as Others
from codemods.facts.loading import Run
from codemods.review.normal import normalised
from codemods.review.side import OF_A_MODULE, QUIET, File, Outside, Side
from codemods.review.units import Function, Unit, bound_by, for_types

# What is made by these is made of what it is given, whenever that is.
_MAKERS = frozenset(
    [
        *("abc", "collections", "dataclasses", "decimal", "enum", "fractions", "functools", "math"),
        *("operator", "pathlib", "re", "string", "types", "typing", "typing_extensions"),
    ]
)
_BUILT = frozenset(
    [
        *("bool", "bytes", "dict", "float", "frozenset", "int", "len", "list", "max", "min", "object"),
        *("property", "range", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
    ]
)
# Classes of these may be bases without anything being told of it.
_DEEPEST = 20
_PLAIN = frozenset([*QUIET, "torch", "typing_extensions"])


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
        self._operations: dict[str, list[Operation]] = {}
        self._imports: dict[str, list[list[Operation]]] = {}
        self._next: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
        self._owned: dict[str, dict[str, list[Unit]]] = {}
        self._first: dict[str, dict[str, int]] = {}
        self._reached: dict[str, set[str]] = {}

    def operations(self, path: str) -> list[Operation]:
        """Those of one file, in order."""
        if path not in self._operations:
            above = {other for other in self.side.changed if path in self._reach(other)} - {path}
            found = self._of_file(path, above, {})
            if any(operation.early or operation.asks for operation in found):
                # Of each statement it must be told what it reads too early.
                found = self._of_file(path, above, None)
            self._operations[path] = found
        return self._operations[path]

    def is_bound(self, path: str, name: str, position: int) -> bool:
        """Has a file bound a name when so many of its statements ran?"""
        return self._bound_first(path).get(name, position) < position

    def _bound_first(self, path: str) -> dict[str, int]:
        if path not in self._first:
            first = self._first[path] = {}
            for position, statement in enumerate(self._body(path)):
                for name in bound_by(statement):
                    first.setdefault(name, position)
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
            if self._acts(file, statement):
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
        own = _stored(statement)
        waiting = [
            (file.path, name) for name in _evaluated(statement, file.lazy_annotations) if name not in own
        ]
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

    def _acts(self, file: File, statement: ast.stmt) -> bool:
        """May a statement do, or depend on, something besides the names that it reads?"""
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass):
            return False
        if isinstance(statement, Function):
            parts = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
            return any(not self._quiet(file, part) for part in (*statement.decorator_list, *parts))
        if isinstance(statement, ast.ClassDef):
            kept = [self._quiet(file, part) for part in statement.decorator_list]
            kept += [self._plain_base(file, base) for base in statement.bases]
            kept += [
                keyword.arg == "metaclass" and self._quiet(file, keyword.value)
                for keyword in statement.keywords
            ]
            return not all(kept) or any(self._acts(file, inner) for inner in statement.body)
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            value = statement.value
            plain = all(isinstance(target, ast.Name) for target in targets)
            return not plain or (value is not None and not self._quiet(file, value))
        return not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))

    def _quiet(self, file: File, value: ast.expr) -> bool:
        """Is a value the same whenever it is worked out?"""
        for node in ast.walk(value):
            if isinstance(node, ast.Call | ast.Subscript | ast.Attribute):
                made = node.func if isinstance(node, ast.Call) else node
                root = made
                while isinstance(root, ast.Attribute | ast.Subscript):
                    root = root.value
                if not isinstance(root, ast.Name) or not self._is_maker(file, root.id):
                    return False
            elif isinstance(node, ast.Await | ast.NamedExpr | ast.Yield) or (
                isinstance(node, ast.Name) and node.id in file.bound_again
            ):
                return False
        return True

    def _is_maker(self, file: File, name: str) -> bool:
        meaning = self.side.meaning(file.path, name)
        if not isinstance(meaning, Outside):
            return False
        if meaning.what[0] == "builtin":
            return meaning.what[1] in _BUILT
        return meaning.what[0] == "module" and meaning.what[1].partition(".")[0] in _MAKERS

    def _plain_base(self, file: File, base: ast.expr, depth: int = 0) -> bool:
        while isinstance(base, ast.Subscript):
            base = base.value
        root = base
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or depth > _DEEPEST:
            return False
        meaning = self.side.meaning(file.path, root.id)
        if isinstance(meaning, Unit) and meaning.kind == "class" and root is base:
            node, there = meaning.original[0], self.side.changed[meaning.path]
            assert isinstance(node, ast.ClassDef)
            hooks = f"{meaning.qualname}.__init_subclass__" in there.units
            metas = all(self._plain_meta(there, keyword) for keyword in node.keywords)
            return not hooks and metas and all(self._plain_base(there, b, depth + 1) for b in node.bases)
        if not isinstance(meaning, Outside):
            return False
        if meaning.what[0] == "builtin":
            return True
        return meaning.what[0] == "module" and meaning.what[1].partition(".")[0] in _PLAIN

    def _plain_meta(self, file: File, keyword: ast.keyword) -> bool:
        root = keyword.value
        while isinstance(root, ast.Attribute):
            root = root.value
        meaning = self.side.meaning(file.path, root.id) if isinstance(root, ast.Name) else None
        outside = (
            isinstance(meaning, Outside) and meaning.what[0] == "module" and meaning.what[1].partition(".")[0]
        )
        return keyword.arg == "metaclass" and outside in _PLAIN


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
    early: dict[TooEarly, None] = {}
    known: set[tuple[str, str]] = set()
    sides = Programs(base), Programs(head)
    for path in sorted(base.changed.keys() & head.changed.keys()):
        before, after = map(Loading, sides)
        before.load(path)
        after.load(path)
        known.update((found.path, found.name) for found in before.early)
        known.update(("", found.name) for found in before.early if found.unbound)
        early |= dict.fromkeys(after.early)
        steps = list(_moved(before.steps, after.steps))
        if any(step.module for step in steps):
            # Modules that make definitions, and do nothing else, may be loaded in any order.
            steps = list(
                _moved(*(list(_done(loading.steps, loading.programs.side)) for loading in (before, after)))
            )
        moved |= dict.fromkeys(steps)
    for path in sorted(head.changed.keys() - base.changed.keys()):
        fresh = Loading(sides[1])
        fresh.load(path)
        early |= dict.fromkeys(found for found in fresh.early if found.unbound)
    found = [e for e in early if (e.path, e.name) not in known and not (e.unbound and ("", e.name) in known)]
    return list(moved), found


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


def _evaluated(statement: ast.stmt, lazy: bool) -> Iterator[str]:
    """Names that a statement reads when it runs, those in the functions that it makes left out."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            waiting += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
            if not lazy:
                arguments = node.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                every += [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
                waiting += [a.annotation for a in every if a.annotation is not None]
                waiting += [node.returns] if node.returns is not None else []
            continue
        if isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.AnnAssign) and lazy:
            waiting += [node.target, *([node.value] if node.value else [])]
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        waiting.extend(ast.iter_child_nodes(node))


def _stored(statement: ast.stmt) -> set[str]:
    """Names that a statement binds, in the body of a class too."""
    found = set(bound_by(statement))
    if isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            found |= _stored(inner)
    return found


def _text(statement: ast.stmt) -> str:
    return ast.dump(normalised(statement))
