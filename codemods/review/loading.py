"""What importing a module runs, in order, through the files of the change; names that are read too early."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

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


@dataclass(frozen=True, slots=True)
class TooEarly:
    """A name that may be read before its module has bound it."""

    path: str
    name: str
    read_in: str
    first: int
    last: int
    unbound: bool = False


@dataclass(slots=True)
class Loading:
    """One import of a file, rehearsed."""

    side: Side
    steps: list[Step] = field(default_factory=list)
    early: list[TooEarly] = field(default_factory=list)
    _bound: dict[str, set[str]] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _outside: set[str] = field(default_factory=set)

    def load(self, path: str) -> None:
        """Run a file of the change, as its import does."""
        file = self.side.changed[path]
        self._bound[path] = set()
        self._open.append(path)
        for statement in file.tree.body:
            if for_types(statement):
                continue
            for node in _imports(statement):
                self._import(file, node)
            self._run(file, statement)
            self._bound[path].update(bound_by(statement))
        self._open.remove(path)

    def _import(self, file: File, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._module(file, node, alias.name)
            return
        where = self.side.source_of(file.path, node)
        if where is None:
            return
        found = self._module(file, node, where)
        for alias in node.names:
            if found in self._open and alias.name in self.side.changed[found].bound:
                if alias.name not in self._bound[found]:
                    self.early.append(
                        TooEarly(found, alias.name, file.path, node.lineno, node.end_lineno or 0)
                    )
            elif found is None or alias.name not in getattr(self.side.changed.get(found), "bound", ()):
                inner = self.side.tree.module(f"{where}.{alias.name}")
                if inner is not None:
                    self._module(file, node, f"{where}.{alias.name}")

    def _module(self, file: File, node: ast.Import | ast.ImportFrom, dotted: str) -> str | None:
        """Load a module and the packages around it; its path, if it is of the change."""
        parts = dotted.split(".")
        found = None
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            found = self.side.tree.module(name)
            if found in self.side.changed:
                if found not in self._bound:
                    self.load(found)
            elif found is not None or count == len(parts):
                label = f"module {found or dotted}"
                if label not in self._outside and not (found is None and parts[0] in QUIET):
                    self._outside.add(label)
                    self.steps.append(Step(label, file.path, node.lineno, node.end_lineno or node.lineno))
        return found if found in self.side.changed else None

    def _run(self, file: File, statement: ast.stmt) -> None:
        last = statement.end_lineno or statement.lineno
        evaluated = [*_evaluated(statement, file.lazy_annotations)]
        if self._acts(file, statement):
            label = statement.name if isinstance(statement, Function | ast.ClassDef) else _text(statement)
            self.steps.append(Step(label, file.path, statement.lineno, last))
        seen: set[tuple[str, str]] = set()
        own = _stored(statement)
        waiting = [(file.path, name) for name in evaluated if name not in own]
        while waiting:
            path, name = waiting.pop()
            if (path, name) in seen:
                continue
            seen.add((path, name))
            if path in self._open and self._is_unbound(path, name):
                unbound = name not in self.side.changed[path].bound
                self.early.append(TooEarly(path, name, file.path, statement.lineno, last, unbound))
            meaning = self.side.meaning(path, name)
            if isinstance(meaning, Unit) and meaning.kind in ("function", "class"):
                waiting += [(meaning.path, other) for other in self._reads(meaning)]

    def _is_unbound(self, path: str, name: str) -> bool:
        file = self.side.changed[path]
        known = hasattr(builtins, name) or name in OF_A_MODULE or "*" in file.bound
        return name not in self._bound[path] and (name in file.bound or not known)

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

    def _reads(self, unit: Unit) -> Iterator[str]:
        yield from unit.globals
        if unit.kind == "class":
            for other in self.side.changed[unit.path].units.values():
                if other.owner == unit.qualname:
                    yield from other.globals


def out_of_order(base: Side, head: Side) -> tuple[list[Step], list[TooEarly]]:
    """What the head runs in another order than the base, and names that it reads too early."""
    moved: dict[Step, None] = {}
    early: dict[TooEarly, None] = {}
    known: set[tuple[str, str]] = set()
    for path in sorted(base.changed.keys() & head.changed.keys()):
        before, after = Loading(base), Loading(head)
        before.load(path)
        after.load(path)
        known.update((found.path, found.name) for found in before.early)
        known.update(("", found.name) for found in before.early if found.unbound)
        early |= dict.fromkeys(after.early)
        moved |= dict.fromkeys(_moved(before.steps, after.steps))
    for path in sorted(head.changed.keys() - base.changed.keys()):
        fresh = Loading(head)
        fresh.load(path)
        early |= dict.fromkeys(found for found in fresh.early if found.unbound)
    found = [e for e in early if (e.path, e.name) not in known and not (e.unbound and ("", e.name) in known)]
    return list(moved), found


def _moved(before: Sequence[Step], after: Sequence[Step]) -> Iterator[Step]:
    labels = {step.label for step in before} & {step.label for step in after}
    sides = [step for step in before if step.label in labels], [s for s in after if s.label in labels]
    old, new = ([step.label for step in side] for side in sides)
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
