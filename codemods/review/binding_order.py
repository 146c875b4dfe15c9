"""Names that the modules of a change may read before they are there, as in a circle of imports.

A set of names is an integer with a bit for each: what a file reads when it is imported is one such set,
worked out once. Which of them it reads too early depends only on the files that are half imported by then,
and on how far each of those is.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from codemods.review.file import OF_A_MODULE
from codemods.review.imports import Imports, Loads, Takes
from codemods.review.units import Unit

_BUILTINS = frozenset(dir(builtins)) | OF_A_MODULE
# A name of a file of the change: the file's path and the name.
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TooEarly:
    """A name that may be read before its module has bound it."""

    path: str
    name: str
    read_in: str
    first: int
    last: int


class Numbers:
    """A number for each name, the same on both sides."""

    def __init__(self) -> None:
        self._known: dict[Name, int] = {}

    def bit(self, name: Name) -> int:
        """The set of one name."""
        return 1 << self._known.setdefault(name, len(self._known))

    def names(self, mask: int) -> list[Name]:
        """The names of a set."""
        # From the last digit on: a shift for each would copy the whole number every time.
        digits = reversed(bin(mask))
        return [name for name, digit in zip(self._known, digits, strict=False) if digit == "1"]

    def of(self, path: str) -> list[Name]:
        """All names of a file."""
        return self._by_file.get(path, [])

    @cached_property
    def _by_file(self) -> dict[str, list[Name]]:
        found: dict[str, list[Name]] = {}
        for name in self._known:
            found.setdefault(name[0], []).append(name)
        return found


class Reads:
    """Names that the files of one side read when they are imported."""

    def __init__(self, imports: Imports, numbers: Numbers) -> None:
        self._imports, self._side, self._numbers = imports, imports.side, numbers
        self._next: dict[Name, list[Name]] = {}
        self._owned: dict[str, dict[str, list[Unit]]] = {}
        self._first: dict[str, dict[str, int]] = {}
        self._late: dict[str, tuple[list[float], list[int]]] = {}
        self._own: dict[str, int] = {}
        self._reached: dict[Name, int] = {}
        self._builtins: dict[str, frozenset[str]] = {}
        self._statements = {path: self._of_file(path) for path in self._side.changed}
        self._every = {path: _union(masks) for path, masks in self._statements.items()}
        self._loads = {path: self._loads_of(path) for path in self._side.changed}
        self._events = {path: self._events_of(path) for path in self._side.changed}
        self._readers: dict[int, frozenset[TooEarly]] = {}
        self._wanted: dict[tuple[ast.stmt, int], list[TooEarly]] = {}

    def rehearsed(self, entry: str) -> int:
        """The names that are read too early where importing begins with one file."""
        found = 0
        loaded: set[str] = set()

        def load(path: str, late: int) -> None:
            """`late` are names that the files around it have not bound yet."""
            nonlocal found
            loaded.add(path)
            found |= self._own_of(path) | (self._every[path] & late)
            for other, position in self._loads[path].items():
                if other not in loaded:
                    load(other, late | self._late_in(path, position))

        load(entry, 0)
        return found

    def unbound(self, mask: int) -> int:
        """Those of some names that nothing binds."""
        names = self._numbers.names(mask)
        return _union(self._numbers.bit(n) for n in names if n[1] not in self._side.changed[n[0]].bound)

    def told(self, entry: str, names: int) -> Iterator[TooEarly]:
        """Every statement that reads one of some names too early where importing begins with one file."""
        loaded: set[str] = set()
        done: dict[str, int] = {}

        def early(found: Iterable[TooEarly]) -> Iterator[TooEarly]:
            for each in found:
                open_at = done.get(each.path)
                if open_at is not None and not self._is_bound(each.path, each.name, open_at):
                    yield each

        def load(path: str) -> Iterator[TooEarly]:
            loaded.add(path)
            concerned = bool(self._every[path] & names)
            for position, imports, read, statement in self._events[path]:
                done[path] = position
                for each in imports:
                    if isinstance(each, Loads):
                        if each.path not in loaded:
                            yield from load(each.path)
                    elif concerned:
                        yield from early(self._taken(path, [each], names))
                if read & names:
                    yield from early(self._among(path, statement, names))
            done.pop(path, None)

        return load(entry)

    def readers(self, names: int) -> frozenset[TooEarly]:
        """Every statement that reads one of some names, too early or not."""
        if names not in self._readers:
            found = set[TooEarly]()
            for path in (path for path, read in self._every.items() if read & names):
                for _, imports, read, statement in self._events[path]:
                    found.update(self._taken(path, imports, names))
                    found.update(self._among(path, statement, names) if read & names else ())
            self._readers[names] = frozenset(found)
        return self._readers[names]

    def _taken(self, path: str, imports: Iterable[Loads | Takes], names: int) -> Iterator[TooEarly]:
        """Yield those of some names that the imports of a statement take."""
        for each in imports:
            if isinstance(each, Takes) and self._numbers.bit((each.path, each.name)) & names:
                yield TooEarly(each.path, each.name, path, each.first, each.last)

    def _among(self, path: str, statement: ast.stmt, names: int) -> list[TooEarly]:
        """List those of some names that a statement reads, its own file's first."""
        key = (statement, names)
        if key not in self._wanted:
            last = statement.end_lineno or statement.lineno
            waiting = [(path, name) for name in self._side.changed[path].read_by(statement)]
            seen: dict[Name, None] = {}
            while waiting:
                pair = waiting.pop()
                if pair not in seen and self._reach(pair) & names:
                    seen[pair] = None
                    waiting += self._follow_in_order(pair)
            told = [name for name in seen if self._as_set(name) & names]
            told.sort(key=lambda name: name[0] != path)
            self._wanted[key] = [TooEarly(*name, path, statement.lineno, last) for name in told]
        return self._wanted[key]

    def _of_file(self, path: str) -> list[int]:
        """Collect the names that each statement of a file reads, with those that its imports take."""
        file, outside = self._side.changed[path], self._outside(path)
        return [
            _union(self._reach((path, name)) for name in file.read_by(statement) if name not in outside)
            | _union(self._numbers.bit((e.path, e.name)) for e in imports if isinstance(e, Takes))
            for statement, imports in zip(self._imports.body(path), self._imports.of(path), strict=True)
        ]

    def _loads_of(self, path: str) -> dict[str, int]:
        """The files that one loads, each with how many statements ran before."""
        found: dict[str, int] = {}
        for position, imports in enumerate(self._imports.of(path)):
            for each in imports:
                if isinstance(each, Loads):
                    found.setdefault(each.path, position)
        return found

    def _events_of(self, path: str) -> list[tuple[int, list[Loads | Takes], int, ast.stmt]]:
        """The statements of a file that load, take or read something, each with its place."""
        found = []
        parts = zip(self._imports.body(path), self._imports.of(path), self._statements[path], strict=True)
        for position, (statement, imports, read) in enumerate(parts):
            concerned = [each for each in imports if isinstance(each, Loads | Takes)]
            if concerned or read:
                found.append((position, concerned, read, statement))
        return found

    def _own_of(self, path: str) -> int:
        """Names of a file that it reads itself before it binds them."""
        if path not in self._own:
            parts = enumerate(self._statements[path])
            self._own[path] = _union(read & self._late_in(path, position) for position, read in parts)
        return self._own[path]

    def _late_in(self, path: str, position: int) -> int:
        """Names of a file that are not bound when so many of its statements ran."""
        if path not in self._late:
            first = self._bound_first(path)
            order = sorted(self._numbers.of(path), key=lambda name: first.get(name[1], math.inf))
            masks = [0]
            for name in reversed(order):
                masks.append(masks[-1] | self._numbers.bit(name))
            self._late[path] = [first.get(name[1], math.inf) for name in order], masks[::-1]
        places, late = self._late[path]
        return late[bisect_left(places, position)]

    def _is_bound(self, path: str, name: str, position: int) -> bool:
        return self._bound_first(path).get(name, position) < position

    def _bound_first(self, path: str) -> dict[str, int]:
        """How many statements of a file ran before the first that binds a name."""
        if path not in self._first:
            places = self._imports.places(path)
            self._first[path] = {
                name: min(positions)
                for name, nodes in self._side.changed[path].binders.items()
                if (positions := [places[id(node)] for node in nodes if id(node) in places])
            }
        return self._first[path]

    def _reach(self, name: Name) -> int:
        """The names that may be read where one is: those of functions and classes too, which may be called.

        Names that lead to each other reach the same ones: they are found by Tarjan's algorithm.
        """
        known = self._reached
        if name in known:
            return known[name]
        if not self._follow(name):
            known[name] = self._as_set(name)
            return known[name]
        number = {name: 0}
        lowest = {name: 0}
        found = {name: self._as_set(name)}
        path = [name]
        waiting = [(name, iter(self._follow(name)))]
        while waiting:
            here, others = waiting[-1]
            for other in others:
                if other in known:
                    found[here] |= known[other]
                elif other in number:
                    lowest[here] = min(lowest[here], number[other])
                else:
                    number[other] = lowest[other] = len(number)
                    found[other] = self._as_set(other)
                    path.append(other)
                    waiting.append((other, iter(self._follow(other))))
                    break
            else:
                waiting.pop()
                if waiting:
                    lowest[waiting[-1][0]] = min(lowest[waiting[-1][0]], lowest[here])
                if lowest[here] == number[here]:
                    together = [path.pop()]
                    while together[-1] != here:
                        together.append(path.pop())
                    known.update(dict.fromkeys(together, _union(map(found.__getitem__, together))))
                    if waiting:
                        found[waiting[-1][0]] |= known[here]
        return known[name]

    def _as_set(self, name: Name) -> int:
        return self._numbers.bit(name) if self._is_told(name) else 0

    def _is_told(self, name: Name) -> bool:
        """Is it one of a file of the change, which may not be there yet?"""
        path, word = name
        if path not in self._side.changed:
            return False
        there = self._side.changed[path].bound
        return word in there or not (hasattr(builtins, word) or word in OF_A_MODULE or "*" in there)

    def _follow(self, pair: Name) -> list[Name]:
        """List the names that are read where a name is, in no order."""
        if pair not in self._next:
            meaning = self._side.meaning(*pair)
            found: list[Name] = []
            if isinstance(meaning, Unit) and meaning.kind in ("function", "class"):
                names = frozenset[str]().union(*(unit.content.reads for unit in self._parts(meaning)))
                found = [(meaning.path, name) for name in names - self._outside(meaning.path)]
            self._next[pair] = found
        return self._next[pair]

    def _outside(self, path: str) -> frozenset[str]:
        """Builtins that a file leaves as they are."""
        if path not in self._builtins:
            bound = self._side.changed[path].bound if path in self._side.changed else frozenset()
            self._builtins[path] = _BUILTINS - bound if "*" not in bound else frozenset()
        return self._builtins[path]

    def _follow_in_order(self, pair: Name) -> Iterator[Name]:
        """The same in the order of the text."""
        meaning = self._side.meaning(*pair)
        if isinstance(meaning, Unit) and meaning.kind in ("function", "class"):
            for unit in self._parts(meaning):
                yield from ((meaning.path, name) for name in unit.globals)

    def _parts(self, unit: Unit) -> list[Unit]:
        """A function, or a class and its methods."""
        if unit.kind != "class":
            return [unit]
        if unit.path not in self._owned:
            owned = self._owned[unit.path] = {}
            for other in self._side.changed[unit.path].units.values():
                owned.setdefault(str(other.owner), []).append(other)
        return [unit, *self._owned[unit.path].get(unit.qualname, ())]


def too_early(base: Imports, head: Imports) -> list[TooEarly]:
    """Names that the head reads too early, as no file of the base does."""
    numbers = Numbers()
    before, after = Reads(base, numbers), Reads(head, numbers)
    both = sorted(base.side.changed.keys() & head.side.changed.keys())
    known = _union(map(before.rehearsed, both))
    nowhere = {name for _, name in numbers.names(before.unbound(known))}
    found: dict[TooEarly, None] = {}
    for path in (*both, *sorted(head.side.changed.keys() - base.side.changed.keys())):
        names = after.rehearsed(path) & ~known
        if not names:
            continue
        unbound = after.unbound(names)
        if path not in base.side.changed:
            names = unbound
        names &= ~_union(numbers.bit(name) for name in numbers.names(unbound) if name[1] in nowhere)
        # Where all that may be told has been, there is nothing to be added.
        if not after.readers(names) <= found.keys():
            found |= dict.fromkeys(after.told(path, names))
    return list(found)


def _union(masks: Iterable[int]) -> int:
    return functools.reduce(operator.or_, masks, 0)
