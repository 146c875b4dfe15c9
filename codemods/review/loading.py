"""What importing a module runs, in order, through the files of the change."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from codemods.facts.loading import Loading as Others
from codemods.facts.loading import Run
from codemods.review.acts import Acting
from codemods.review.content import Function
from codemods.review.imports import Imports, Loads, Outer


@dataclass(frozen=True, slots=True)
class Step:
    """Something that runs: a statement as a text, or a module outside the change that is imported."""

    label: str
    path: str
    first: int
    last: int
    module: str = ""


class Programs:
    """What the files of one side do when they are imported: steps, and files that they load."""

    def __init__(self, imports: Imports) -> None:
        self.side = imports.side
        self.imports = imports
        self._acting = Acting(imports.side)
        self._known: dict[str, list[Step | Loads]] = {}
        # Names of files of which each binding counts, not the last one alone.
        self.watched: dict[str, set[str]] = {}
        self._others = Others(self._find)

    def of(self, path: str) -> list[Step | Loads]:
        """Those of one file."""
        if path not in self._known:
            self._known[path] = list(self._of_file(path))
        return self._known[path]

    def does_something(self, path: str) -> bool:
        """Does a file load anything, or do more than bind names, in whatever order?"""
        if any(isinstance(each, Loads | Outer) for found in self.imports.of(path) for each in found):
            return True
        file = self.side.changed[path]
        return any(self._acting.acts(file, statement) for statement in self.imports.body(path))

    def bound_between(self, path: str) -> set[str]:
        """Names of a file that are bound again after something ran that may read them."""
        file, found = self.side.changed[path], set[str]()
        places = {id(statement): place for place, statement in enumerate(self.imports.body(path))}
        for name, binders in file.binders.items():
            bound = [places[id(node)] for node in binders if id(node) in places] or [0]
            first, *more = [-1, *bound] if name in file.shadowing else bound
            between = range(first + 1, more[-1]) if more else ()
            if any(place not in more and self._may_read(path, place, name) for place in between):
                found.add(name)
        return found

    def _may_read(self, path: str, place: int, name: str) -> bool:
        file, statement = self.side.changed[path], self.imports.body(path)[place]
        if self.imports.of(path)[place] or name in file.read_by(statement):
            return True
        return self._acting.acts(file, statement)

    def _of_file(self, path: str) -> Iterator[Step | Loads]:
        file = self.side.changed[path]
        again = self._bound_again(path)
        for statement, imports in zip(self.imports.body(path), self.imports.of(path), strict=True):
            for each in imports:
                if isinstance(each, Loads):
                    yield each
                elif isinstance(each, Outer):
                    node = each.node
                    yield Step(each.label, path, node.lineno, node.end_lineno or node.lineno, each.module)
            if statement in again or self._acting.acts(file, statement):
                if isinstance(statement, Function | ast.ClassDef):
                    label = statement.name
                else:
                    label = file.written(statement)
                yield Step(label, path, statement.lineno, statement.end_lineno or statement.lineno)

    def _bound_again(self, path: str) -> set[ast.stmt]:
        file = self.side.changed[path]
        return {
            node
            for name in self.watched.get(path, ())
            for node in file.binders.get(name, ())[name not in file.shadowing :]
        }

    def in_detail(self, steps: Sequence[Step]) -> list[Step]:
        """Steps, with what loading a module outside the change does in place of its name."""
        found: list[Step] = []
        run = Run()
        for step in steps:
            if step.module:
                known = len(run.events)
                self._others.load(step.module, run)
                found += (replace(step, label=f"module {event}") for event in run.events[known:])
            else:
                found.append(step)
        return found

    def events(self, modules: Iterable[str]) -> list[str]:
        """What loading modules outside the change does, one after the other."""
        run = Run()
        for module in modules:
            self._others.load(module, run)
        return run.events

    def _find(self, dotted: str) -> tuple[bytes, bool] | None:
        found = self.side.tree.module(dotted)
        if found is None:
            return None
        # Files of the change are rehearsed here already.
        data = b"" if found in self.side.changed else self.side.tree.read(found)
        return data, found.endswith("__init__.py")


@dataclass(slots=True)
class Loading:
    """One import of a file, rehearsed."""

    programs: Programs
    steps: list[Step] = field(default_factory=list)
    _loaded: set[str] = field(default_factory=set)
    _outside: set[str] = field(default_factory=set)

    def load(self, path: str) -> None:
        """Run a file of the change, as its import does."""
        self._loaded.add(path)
        for each in self.programs.of(path):
            if isinstance(each, Loads):
                if each.path not in self._loaded:
                    self.load(each.path)
            elif not each.module or each.label not in self._outside:
                self.steps.append(each)
                if each.module:
                    self._outside.add(each.label)


def out_of_order(base: Programs, head: Programs) -> list[Step]:
    """What the head runs in another order than the base."""
    moved: dict[Step, None] = {}
    sides = base, head
    for path in base.side.changed.keys() & head.side.changed.keys():
        names = set[str]().union(*(side.bound_between(path) for side in sides))
        for side in sides:
            side.watched[path] = names
    for path in _reaching_other(*sides):
        before, after = map(Loading, sides)
        before.load(path)
        after.load(path)
        steps = list(_moved(before.steps, after.steps))
        if any(step.module for step in steps):
            # Modules that make definitions, and do nothing else, may be loaded in any order.
            steps = list(_moved(*(each.programs.in_detail(each.steps) for each in (before, after))))
        moved |= dict.fromkeys(steps)
    return list(moved)


def _reaching_other(base: Programs, head: Programs) -> list[str]:
    """Files of both sides whose import runs one that does not do the same on both."""
    loading: dict[str, set[str]] = {}
    waiting = list(base.side.changed.keys() ^ head.side.changed.keys())
    for side in (base, head):
        for path in side.side.changed:
            for each in side.of(path):
                if isinstance(each, Loads):
                    loading.setdefault(each.path, set()).add(path)
    both = base.side.changed.keys() & head.side.changed.keys()
    waiting += (path for path in both if _labels(base.of(path)) != _labels(head.of(path)))
    found = set(waiting)
    while waiting:
        more = loading.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return sorted(both & found)


def _labels(program: Sequence[Step | Loads]) -> list[tuple[bool, str]]:
    return [(True, each.label) if isinstance(each, Step) else (False, each.path) for each in program]


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
