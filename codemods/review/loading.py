"""Steps that importing a module runs, in order, through the files of the change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from codemods.program.loading import Loading as Others
from codemods.program.loading import Run
from codemods.review.content import Function
from codemods.review.effects import SideEffects, is_plain
from codemods.review.imports import Imports, Loads, Outer

# A statement, as it is compared, that says where modules are looked for.
_SEARCHES = re.compile(r"id='sys', ctx=Load\(\)\), attr='(?:path|meta_path|path_hooks)'|'addsitedir'")
# One that sets a name of another module, which a module that is loaded later may read.
_SETS = re.compile(r"^module .*attr='\w+', ctx=Store\(\)")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that runs: a statement as a text, or a module outside the change that is imported."""

    label: str
    path: str
    first: int
    last: int
    module: str = ""
    statement: ast.stmt | None = field(default=None, compare=False, repr=False)


class Programs:
    """Steps of the files of one side when they are imported, and files that they load."""

    def __init__(self, imports: Imports) -> None:
        self.side = imports.side
        self.imports = imports
        self._effects = SideEffects(imports.side)
        self._known: dict[str, list[Step | Loads]] = {}
        self._acts: dict[ast.stmt, bool] = {}
        # Names of files of which each binding counts, not the last one alone.
        self.watched: dict[str, set[str]] = {}
        self._others = Others(self._find)

    def of(self, path: str) -> list[Step | Loads]:
        """Those of one file; whether a statement does something is not asked yet of those that may."""
        if path not in self._known:
            self._known[path] = list(self._of_file(path))
        return self._known[path]

    def does_something(self, path: str) -> bool:
        """Does a file load anything, or do more than bind names, in whatever order?"""
        if any(isinstance(each, Loads | Outer) for found in self.imports.of(path) for each in found):
            return True
        file = self.side.changed[path]
        return any(self._effects.runs(file, statement) for statement in self.imports.body(path))

    def bound_between(self, path: str) -> set[str]:
        """Names of a file that are bound again after something ran that may read them."""
        file, found = self.side.changed[path], set[str]()
        several = [(name, nodes) for name, nodes in file.binders.items() if len(nodes) > 1]
        several += [(name, file.binders[name]) for name in file.shadowing if len(file.binders[name]) == 1]
        places = self.imports.places(path) if several else {}
        for name, binders in several:
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
        return self._effects.runs(file, statement)

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
            if statement in again:
                self._acts[statement] = True
            if statement in again or not is_plain(statement):
                if isinstance(statement, Function | ast.ClassDef):
                    label = statement.name
                else:
                    label = file.written(statement)
                last = statement.end_lineno or statement.lineno
                yield Step(label, path, statement.lineno, last, statement=statement)

    def _bound_again(self, path: str) -> set[ast.stmt]:
        file = self.side.changed[path]
        return {
            node
            for name in self.watched.get(path, ())
            for node in file.binders.get(name, ())[name not in file.shadowing :]
        }

    def acts(self, step: Step) -> bool:
        """Does a step do something?"""
        statement = step.statement
        if statement is None:
            return True
        if statement not in self._acts:
            self._acts[statement] = self._effects.runs(self.side.changed[step.path], statement)
        return self._acts[statement]

    def is_idle(self, step: Step) -> bool:
        """Is it known already that a step does nothing?"""
        return step.statement is not None and self._acts.get(step.statement) is False

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
        """List the events of loading modules outside the change, one after the other."""
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
            elif (not each.module or each.label not in self._outside) and not self.programs.is_idle(each):
                self.steps.append(each)
                if each.module:
                    self._outside.add(each.label)


def out_of_order(base: Programs, head: Programs) -> list[Step]:
    """List the steps that the head runs in another order than the base."""
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
        if not _may_be_moved(before, after):
            continue
        for each in (before, after):
            each.steps = [step for step in each.steps if each.programs.acts(step)]
        moved |= dict.fromkeys(_found_elsewhere(before.steps, after.steps))
        steps = list(_moved(before.steps, after.steps))
        if any(step.module for step in steps):
            # Modules that make definitions, and do nothing else, may be loaded in any order.
            known = [each.programs.in_detail(each.steps) for each in (before, after)]
            if not any(_SETS.search(step.label) for step in known[1]):
                steps = list(_moved(*known))
        moved |= dict.fromkeys(steps)
    return list(moved)


def _found_elsewhere(before: Sequence[Step], after: Sequence[Step]) -> Iterator[Step]:
    """Modules that are loaded on the other side now of what says where modules are looked for."""
    sides = _loaded_until(before), _loaded_until(after)
    both = {step.label for step in before if step.module}
    for label in sides[0].keys() & sides[1].keys():
        other = (sides[0][label] ^ sides[1][label]) & both
        there = sides[0][label] & sides[1][label]
        # A module of a package that is loaded is looked for in that alone.
        other = {each for each in other if each.partition(".")[0] not in there}
        yield from (step for step in after if step.module and step.label in other)


def _loaded_until(steps: Sequence[Step]) -> dict[str, set[str]]:
    """The modules that are loaded before each statement that says where modules are looked for."""
    found: dict[str, set[str]] = {}
    for place, step in enumerate(steps):
        if not step.module and _SEARCHES.search(step.label):
            found.setdefault(step.label, {each.label for each in steps[:place] if each.module})
    return found


def _reaching_other(base: Programs, head: Programs) -> list[str]:
    """Files of both sides whose import runs one that does not do the same on both."""
    loading: dict[str, set[str]] = {}
    waiting = list(base.side.changed.keys() ^ head.side.changed.keys())
    for side in (base, head):
        for path in side.side.changed:
            for each in (one for found in side.imports.of(path) for one in found):
                if isinstance(each, Loads):
                    loading.setdefault(each.path, set()).add(path)
    both = base.side.changed.keys() & head.side.changed.keys()
    # A step of one side alone is in no other order.
    known = [
        {label for path in side.side.changed for label in _labels(side.of(path))} for side in (base, head)
    ]
    waiting += (path for path in both if _differ(base, head, path, known[0] & known[1]))
    found = set(waiting)
    while waiting:
        more = loading.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return sorted(both & found)


def _differ(base: Programs, head: Programs, path: str, known: Set[tuple[bool, str]]) -> bool:
    """Does a file do other things of those that are known to both sides, or in another order? Only of what
    differs is it asked whether it does anything.
    """
    programs = base, head
    sides = [
        [each for each in side.of(path) if isinstance(each, Loads) or _label(each) in known]
        for side in programs
    ]
    while (labels := (_labels(sides[0]), _labels(sides[1])))[0] != labels[1]:
        others: list[set[int]] = [set(), set()]
        for operation, i, j, k, m in SequenceMatcher(None, *labels, autojunk=False).get_opcodes():
            if operation != "equal":
                others[0].update(range(i, j))
                others[1].update(range(k, m))
        for at, side in enumerate(programs):
            found = sides[at]
            sides[at] = [
                each
                for place, each in enumerate(found)
                if place not in others[at] or isinstance(each, Loads) or side.acts(each)
            ]
            others[at] = set(range(len(found) - len(sides[at])))
        if not any(others):
            return True
    return False


def _labels(program: Sequence[Step | Loads]) -> list[tuple[bool, str]]:
    return [_label(each) for each in program]


def _label(each: Step | Loads) -> tuple[bool, str]:
    return (True, each.label) if isinstance(each, Step) else (False, each.path)


def _may_be_moved(before: Loading, after: Loading) -> bool:
    """Is the order of two loadings another one, once what does nothing is left out of what differs?"""
    while moved := {
        step.label for step in (*_moved(before.steps, after.steps), *_moved(after.steps, before.steps))
    }:
        silent = 0
        for each in (before, after):
            kept = [step for step in each.steps if step.label not in moved or each.programs.acts(step)]
            silent += len(each.steps) - len(kept)
            each.steps = kept
        if not silent:
            return True
    return False


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
