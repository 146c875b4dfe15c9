"""Which unit of one side is which of the other, and which of those pairs do the same."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from codemods.review.side import Meaning, Outside, Side, Typed, Unknown
from codemods.review.units import Unit, imports_in

# A shorter text says too little for a unit of another name to be taken for the same one.
_TELLING = 200


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that means something else in the new place, though the text is the same."""

    name: str
    before: str
    after: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A unit before and after; equal if both do the same and every name in them means the same."""

    base: Unit
    head: Unit
    equal: bool
    other_names: tuple[Renaming, ...] = ()


class Matching:
    """Pairs, one to one, and what is on one side only."""

    def __init__(
        self,
        base: Side,
        head: Side,
        known: Sequence[tuple[Unit, Unit]] = (),
        equal: Sequence[tuple[Unit, Unit]] = (),
    ) -> None:
        """`known` are pairs that are told by something else than their text; `equal` need no look."""
        self._base, self._head = base, head
        self._gone, self._new = base.units(), head.units()
        self._classes = {(unit.path, unit.qualname): unit for unit in self._gone}
        self._by_base: dict[int, Unit] = {id(before): after for before, after in (*known, *equal)}
        given = {id(before) for before, _ in equal}
        self._taken: set[int] = {id(after) for after in self._by_base.values()}
        for rule in (
            lambda unit: (unit.kind, unit.path, unit.qualname, unit.key),
            lambda unit: (unit.kind, unit.qualname, unit.key),
            lambda unit: (unit.kind, unit.name, unit.key) if unit.kind != "method" else None,
            lambda unit: (unit.kind, unit.key) if len(unit.text) > _TELLING and not unit.owner else None,
            lambda unit: (unit.kind, unit.path, unit.qualname),
            lambda unit: (unit.kind, unit.qualname) if unit.kind != "binding" else None,
        ):
            self._pair(rule)
        pairs = [(unit, self._by_base[id(unit)]) for unit in self._gone if id(unit) in self._by_base]
        self.pairs = [Pair(*p, equal=True) if id(p[0]) in given else self._judged(*p) for p in pairs]
        self.pairs += [Pair(*copy, equal=True) for copy in self._copies()]

    @property
    def gone(self) -> list[Unit]:
        """Units of the base that no unit of the head is."""
        return [unit for unit in self._gone if id(unit) not in self._by_base]

    @property
    def new(self) -> list[Unit]:
        """Units of the head that no unit of the base is."""
        return [unit for unit in self._new if id(unit) not in self._taken]

    def _copies(self) -> Iterator[tuple[Unit, Unit]]:
        """Constants that are said once more, or once less, than before."""
        sides = (
            {(u.name, _value(u)): u for u in units if u.is_constant} for units in (self._gone, self._new)
        )
        before, after = sides
        for unit in self.new:
            if unit.is_constant and (twin := before.get((unit.name, _value(unit)))):
                self._taken.add(id(unit))
                yield twin, unit
        for unit in self.gone:
            if unit.is_constant and (twin := after.get((unit.name, _value(unit)))):
                self._by_base[id(unit)] = twin
                yield unit, twin

    def _pair(self, rule: Callable[[Unit], Hashable]) -> None:
        """Pair those that a rule tells apart from all others, on both sides."""
        sides = (self._sorted(self.gone, rule), self._sorted(self.new, rule))
        for key, [unit, *others] in sides[0].items():
            found = sides[1].get(key, [])
            if not others and len(found) == 1 and self._owners_agree(unit, found[0]):
                self._by_base[id(unit)] = found[0]
                self._taken.add(id(found[0]))

    @staticmethod
    def _sorted(units: Iterable[Unit], rule: Callable[[Unit], Hashable]) -> dict[Hashable, list[Unit]]:
        found: dict[Hashable, list[Unit]] = {}
        for unit in units:
            key = rule(unit)
            if key is not None:
                found.setdefault(key, []).append(unit)
        return found

    def _owners_agree(self, base: Unit, head: Unit) -> bool:
        """A method goes with its class, wherever that went."""
        if base.owner is None or head.owner is None:
            return base.owner == head.owner
        before = self._classes[base.path, base.owner]
        after = self._by_base.get(id(before))
        return after is None or (after.path, after.qualname) == (head.path, head.owner)

    def _judged(self, base: Unit, head: Unit) -> Pair:
        if base.key != head.key:
            return Pair(base, head, equal=False)
        names = [*zip(base.globals, head.globals, strict=True)]
        names += ((name, name) for name in base.mixed if self._bound(base, head, name))
        others = [*self._imports(base, head)]
        for before, after in names:
            meanings = self._base.meaning(base.path, before), self._head.meaning(head.path, after)
            if _only_noted(self._base, base, before) and _only_noted(self._head, head, after):
                meanings = _noted(meanings[0]), _noted(meanings[1])
            if not self.same(*meanings):
                others.append(Renaming(before, *map(_shown, meanings)))
            elif why := self._other_variable((base.path, before), (head.path, after)):
                others.append(Renaming(before, f"{base.path}: {before}", why))
            elif meanings[0] == meanings[1]:
                others += self._attributes(base, before, *meanings)
        return Pair(base, head, not others, tuple(others))

    def same(self, before: Meaning, after: Meaning) -> bool:
        """Do two names stand for one thing? Two units do if they are a pair, whether or not that is equal."""
        if isinstance(before, Unit) and isinstance(after, Unit):
            paired = self._by_base.get(id(before)) is after
            constant = before.is_constant and after.is_constant and _value(before) == _value(after)
            if constant and not paired:
                constant = not self._base.is_rebound(before.path, before.name)
                constant = constant and not self._head.is_rebound(after.path, after.name)
            return paired or constant
        if isinstance(before, Typed):
            return isinstance(after, Typed) and self.same(before.what, after.what)
        if isinstance(before, Unknown):
            return before.outside and before == after
        return isinstance(before, Outside) and before == after

    def _other_variable(self, before: tuple[str, str], after: tuple[str, str]) -> str:
        """Why reading one module's variable may give something else than reading another's did."""
        old, new = self._base.cells(*before), self._head.cells(*after)
        if old[0] == new[0]:
            return ""
        alone = len(old) == len(new) == 1
        for side, cells in ((self._base, old), (self._head, new)):
            for path, name in cells:
                if not alone and side.is_rebound(path, name):
                    return f"read from {new[0][0]}, while functions of {path} bind it again"
                if path in side.tree.identities and (path, name) in side.replacements:
                    return f"read from {new[0][0]}, while other files replace {name} of {path}"
        return ""

    def _bound(self, base: Unit, head: Unit, name: str) -> bool:
        files = self._base.changed[base.path], self._head.changed[head.path]
        return any(name in file.bound for file in files)

    def _imports(self, base: Unit, head: Unit) -> Iterator[Renaming]:
        """Imports inside a unit that bring something else in the new place."""
        for before, after in zip(imports_in([base.node]), imports_in([head.node]), strict=True):
            if isinstance(before, ast.ImportFrom) and isinstance(after, ast.ImportFrom):
                where = self._module(self._base, base, before), self._module(self._head, head, after)
                if where[0] != where[1]:
                    names = ", ".join(alias.asname or alias.name for alias in before.names)
                    yield Renaming(names, f"from {where[0]}", f"from {where[1]}")
            for alias in before.names:
                meanings = (
                    self._base.imported(base.path, before, alias),
                    self._head.imported(head.path, after, alias),
                )
                if not self.same(*meanings):
                    yield Renaming(alias.asname or alias.name, *map(_shown, meanings))

    @staticmethod
    def _module(side: Side, unit: Unit, node: ast.ImportFrom) -> str:
        where = side.source_of(unit.path, node)
        return (side.tree.module(where) or where) if where is not None else f"{unit.path}: {node.module}"

    def _attributes(self, unit: Unit, name: str, before: Meaning, after: Meaning) -> Iterator[Renaming]:
        """Names that are read from a module of the change and mean something else there now."""
        for chain in sorted(unit.attributes.get(name, ())):
            left, right, shown = before, after, name
            for attribute in chain:
                left, right = self._base.attribute(left, attribute), self._head.attribute(right, attribute)
                shown += f".{attribute}"
                if not self.same(left, right):
                    yield Renaming(shown, _shown(left), _shown(right))
                    break


def _only_noted(side: Side, unit: Unit, name: str) -> bool:
    """Does a name stand in annotations alone, which are texts when the program runs?"""
    return side.changed[unit.path].lazy_annotations and name in unit.noted


def _noted(meaning: Meaning) -> Meaning:
    return meaning.what if isinstance(meaning, Typed) else meaning


def _value(unit: Unit) -> str:
    return repr([ast.dump(node.value) for node in unit.node.body if isinstance(node, ast.Assign)])


def _shown(meaning: Meaning) -> str:
    if isinstance(meaning, Unit):
        return f"{meaning.path}: {meaning.qualname}"
    if isinstance(meaning, Typed):
        return f"{_shown(meaning.what)}, for type checkers only"
    return meaning.why if isinstance(meaning, Unknown) else " ".join(meaning.what[:3])
