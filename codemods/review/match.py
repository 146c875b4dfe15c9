"""Which unit of one side is which of the other, and which of those pairs do the same."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codemods.program.nodes import walk
from codemods.review.annotations import Annotated
from codemods.review.descent import heirs, origins
from codemods.review.file import OF_A_MODULE, File
from codemods.review.hooks import Hooks
from codemods.review.identity import Apart
from codemods.review.placement import Placed, answering_for_its_module, only_handed, placement
from codemods.review.side import Meaning, Outside, Side, Typed, Unknown
from codemods.review.spelling import Reference, Renaming, may_be_respelled, spelled
from codemods.review.units import MODULE, Unit

# A shorter text says too little for a unit of another name to be taken for the same one.
_TELLING = 200
# What is told of a meaning, in characters.
_LONGEST = 120
# What the annotations of a class's fields are, by whether they are worked out when it is made.
_ANNOTATIONS = {False: "what they say", True: "texts (from __future__ import annotations)"}


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
        self._apart = Apart(base, head)
        self._placed, self._hooks = Placed(base, head), Hooks(base, head)
        self._annotated = Annotated(base, head, self.same)
        self._gone, self._new = base.units(), head.units()
        self._classes = {(unit.path, unit.qualname): unit for unit in self._gone}
        self._by_base: dict[int, Unit] = {id(before): after for before, after in (*known, *equal)}
        given = {id(before) for before, _ in equal}
        self._taken: set[int] = {id(after) for after in self._by_base.values()}
        self._meant: dict[str, tuple[frozenset[str], frozenset[str]] | None] = {}
        self._chains: dict[tuple[str, str, tuple[str, ...]], bool] = {}
        self._pair_unchanged()
        self._pair_by_key(lambda unit: (unit.path, unit.qualname))
        self._pair_by_key(lambda unit: (unit.qualname,))
        self._pair_by_file(self._pair_by_key)
        self._pair_by_key(lambda unit: (unit.name,) if unit.kind != "method" else None)
        self._pair_by_key(lambda unit: None if unit.owner else (), _TELLING)
        self._pair(lambda unit: (unit.kind, unit.path, unit.qualname), self.gone, self.new)
        self._pair_by_file(lambda told: self._pair(lambda unit: (unit.kind, told(unit)), self.gone, self.new))
        self._pair(
            lambda unit: (unit.kind, unit.qualname) if unit.kind != "binding" else None, self.gone, self.new
        )
        self.pairs = [
            Pair(*pair, equal=True) if id(pair[0]) in given else self._judged(*pair) for pair in self._found()
        ]
        self.pairs += [Pair(*copy, equal=True) for copy in self._copies()]

    @property
    def gone(self) -> list[Unit]:
        """Units of the base that no unit of the head is."""
        return [unit for unit in self._gone if id(unit) not in self._by_base]

    @property
    def new(self) -> list[Unit]:
        """Units of the head that no unit of the base is."""
        return [unit for unit in self._new if id(unit) not in self._taken]

    def _found(self) -> list[tuple[Unit, Unit]]:
        """The pairs so far."""
        return [(unit, self._by_base[id(unit)]) for unit in self._gone if id(unit) in self._by_base]

    def _copies(self) -> Iterator[tuple[Unit, Unit]]:
        """Constants that are said once more, or once less, than before."""
        single = self.gone, self.new
        names = {unit.name for side in single for unit in side if unit.kind == "binding"}
        before, after = (
            {(u.name, value): u for u in units if u.name in names and (value := u.constant) is not None}
            for units in (self._gone, self._new)
        )
        for unit in single[1]:
            twin = before.get((unit.name, value)) if (value := unit.constant) is not None else None
            if twin is not None and not self._apart.may_be_told(unit):
                self._taken.add(id(unit))
                yield twin, unit
        for unit in single[0]:
            twin = after.get((unit.name, value)) if (value := unit.constant) is not None else None
            if twin is not None and not self._apart.may_be_told(unit):
                self._by_base[id(unit)] = twin
                yield unit, twin

    def _pair_unchanged(self) -> None:
        """Pair those that have their text, name and file; each of them is the only one of its name there."""
        new = {(unit.kind, unit.path, unit.qualname): unit for unit in self.new}
        for unit in self.gone:
            twin = new.get((unit.kind, unit.path, unit.qualname))
            if twin is not None and twin.content is unit.content and self._owners_agree(unit, twin):
                self._by_base[id(unit)] = twin
                self._taken.add(id(twin))

    def _pair_by_file(self, pair: Callable[[Callable[[Unit], tuple[str, ...]]], None]) -> None:
        """Pair those of names that several files have, by where the rest of their file came from or went."""
        for nearest, side in ((origins, self._new), (heirs, self._gone)):
            if not (self.gone and self.new):
                return
            found = nearest(self._found(), self.gone, self.new)
            pair(functools.partial(_told_by_file, found, {id(unit) for unit in side}))

    def _pair_by_key(self, told: Callable[[Unit], tuple[str, ...] | None], least: int = 0) -> None:
        """Pair those that do the same and have more in common, if they say enough; keys are made only where
        marks and shapes agree.
        """

        def mark(unit: Unit) -> Hashable:
            own = (unit.kind, told(unit))
            return None if own[1] is None else (*own, None if own in bare else unit.content.mark)

        def shape(unit: Unit) -> Hashable:
            enough = not least or len(unit.content.text) > least
            return (unit.kind, told(unit), unit.content.shape) if enough else None

        # Where one has no mark, none counts.
        sides = self.gone, self.new
        bare = {(unit.kind, told(unit)) for side in sides for unit in side if unit.content.mark is None}
        self._pair(
            lambda unit: (unit.kind, told(unit), unit.content.key), *_shared(shape, *_shared(mark, *sides))
        )

    def _pair(self, rule: Callable[[Unit], Hashable], gone: Sequence[Unit], new: Sequence[Unit]) -> None:
        """Pair those that a rule tells apart from all others, on both sides."""
        sides = (self._sorted(gone, rule), self._sorted(new, rule))
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
        respelled = not _do_the_same(base, head)
        if respelled and not self._is_respelled(base, head):
            return Pair(base, head, equal=False)
        lazy = [
            self._base.changed[base.path].lazy_annotations,
            self._head.changed[head.path].lazy_annotations,
        ]
        if lazy[0] != lazy[1] and base.content.has_fields:
            kinds = [_ANNOTATIONS[each] for each in lazy]
            return Pair(base, head, equal=False, other_names=(Renaming("annotations", *kinds),))
        one = base.content is head.content and base.path == head.path and lazy[0] == lazy[1]
        if one and self._means_the_same(base, head):
            return Pair(base, head, equal=True)
        if other := self._elsewhere(base, head):
            return Pair(base, head, equal=False, other_names=(other,))
        others = [*self._imports(base, head)]
        names = [] if respelled else [*zip(base.globals, head.globals, strict=True)]
        names += ((name, name) for name in base.content.mixed if self._bound(base, head, name))
        for before, after in names:
            meanings = self._base.meaning(base.path, before), self._head.meaning(head.path, after)
            if _only_noted(self._base, base, before) and _only_noted(self._head, head, after):
                meanings = _noted(meanings[0]), _noted(meanings[1])
            if not self.same(*meanings):
                handed = only_handed(base, before, meanings[0]) and only_handed(head, after, meanings[1])
                if not handed and not self._only_through(base, head, (before, after), meanings):
                    others.append(Renaming(before, *map(_shown, meanings)))
            elif why := self._other_variable((base.path, before), (head.path, after)):
                others.append(Renaming(before, f"{base.path}: {before}", why))
            elif meanings[0] == meanings[1]:
                others += self._attributes(base, head, before, *meanings)
        others += (Renaming(*each) for each in self._annotated.other(base, head))
        return Pair(base, head, not others, tuple(others))

    def _is_respelled(self, base: Unit, head: Unit) -> bool:
        """Do they do the same, but for names of variables, and for how names of modules are read?"""
        if not may_be_respelled(base, head):
            return False
        before, after = spelled(base, self._base), spelled(head, self._head)
        if before is None or after is None or before.text != after.text:
            return False
        pairs = zip(before.references, after.references, strict=True)
        return all(
            self.same(left.meaning, right.meaning) and self._is_one_variable(left, right)
            for left, right in pairs
        )

    def _is_one_variable(self, before: Reference, after: Reference) -> bool:
        """Is what one reads at any time what the other does?"""
        ways = (*before.through, before.cell), (*after.through, after.cell)
        if ways[0] == ways[1] or not (before.through or after.through):
            return not any(self._other_variable(*cells) for cells in zip(*ways, strict=True))
        sides = ((self._base, before), (self._head, after))
        kept = (side.is_kept(*cell) for side, each in sides for cell in (*each.through, each.cell))
        return all(kept) and not self._other_variable(before.cell, after.cell)

    def _elsewhere(self, base: Unit, head: Unit) -> Renaming | None:
        """Why it does something else in the file that it stands in now, whatever its names mean."""
        if self._placed.run_by_another(base, head):
            return Renaming(*placement(MODULE, base, head))
        if self._hooks.met(base, head):
            return Renaming(head.name, f"{base.path}: {base.qualname}", "a name that is looked for, or was")
        return next((Renaming(*placement(n, base, head)) for n in answering_for_its_module(base, head)), None)

    def _means_the_same(self, base: Unit, head: Unit) -> bool:
        """Is it certain, for a text that stands in one file on both sides, without a look at its parts?"""
        content, meant = base.content, self._names_meant(base.path)
        if meant is None:
            return False
        other, modules = meant
        found = content.may_hold(modules)
        if found is None or content.may_hold(other):
            return False
        if content.imports and any(True for _ in self._imports(base, head)):
            return False
        for name in found:
            chains = content.may_read_of(name)
            if chains is None:
                chains = content.attributes.get(name, frozenset())
            if not all(self._still_there(base.path, name, chain) for chain in chains):
                return False
        return True

    def _still_there(self, path: str, name: str, chain: tuple[str, ...]) -> bool:
        """Is what a chain of attributes leads to from a module the same on both sides, all the way?"""
        key = (path, name, chain)
        if key not in self._chains:
            left, right = self._base.meaning(path, name), self._head.meaning(path, name)
            self._chains[key] = True
            for attribute in chain:
                left = self._base.attribute(left, attribute, path)
                right = self._head.attribute(right, attribute, path)
                if not self.same(left, right):
                    self._chains[key] = False
                    break
        return self._chains[key]

    def _names_meant(self, path: str) -> tuple[frozenset[str], frozenset[str]] | None:
        """Names that a file held before and that mean another thing now, and those of modules of the tree of
        which it may read something else; None if that can't be told.
        """
        if path not in self._meant:
            files = self._base.changed[path], self._head.changed[path]
            bound = files[0].bound | files[1].bound | {"__doc__" for file in files if file.may_read_docstring}
            meanings = {
                name: (self._base.meaning(path, name), self._head.meaning(path, name))
                for name in bound
                if not self._is_one_pair(*files, name)
            }
            other = frozenset(
                name
                for name, pair in meanings.items()
                if not self.same(*pair) or self._other_variable((path, name), (path, name))
            )
            # A private name of a class is another word in the text than in the instructions.
            unknown = "*" in bound or any("__" in name.lstrip("_") for name in other - {"__doc__"})
            modules = frozenset(
                name
                for name, (before, _) in meanings.items()
                if _is_file(before) and name not in other and not self._all_there(files[0], name)
            )
            held = frozenset(filter(files[0].may_hold, other))
            self._meant[path] = None if unknown else (held, modules)
        return self._meant[path]

    def _all_there(self, file: File, name: str) -> bool:
        """Is whatever a file may read from a module the same on both sides?"""
        chains = file.may_read_of(name)
        return chains is not None and all(self._still_there(file.path, name, chain) for chain in chains)

    def _is_one_pair(self, base: File, head: File, name: str) -> bool:
        """Is a name that of two definitions, which are a pair, and of nothing else?"""
        if name in base.imported or name in head.imported or name in OF_A_MODULE:
            return False
        left, right = base.units.get(name), head.units.get(name)
        alone = name not in base.typed and name not in head.typed
        return alone and left is not None and right is not None and self._by_base.get(id(left)) is right

    def changed_names(self, path: str) -> frozenset[str]:
        """Names of a file of both sides that are gone, or mean something else."""
        meant, names = self._names_meant(path), self._base.changed[path].bound
        return frozenset(
            name
            for name in (names if meant is None else names & meant[0])
            if name not in self._head.changed[path].bound
            or not self.same(self._base.meaning(path, name), self._head.meaning(path, name))
        )

    def same(self, before: Meaning, after: Meaning) -> bool:
        """Do two names stand for one thing? Two units do if they are a pair, whether or not that is equal."""
        if isinstance(before, Unit) and isinstance(after, Unit):
            paired = self._by_base.get(id(before)) is after
            constant = before.constant is not None and before.constant == after.constant
            if constant and not paired:
                constant = not self._base.is_rebound(before.path, before.name)
                constant = constant and not self._head.is_rebound(after.path, after.name)
                constant = constant and not self._base.is_bound_by_text(before.path, before.name)
                constant = constant and not self._head.is_bound_by_text(after.path, after.name)
                constant = constant and not self._apart.may_be_told(before)
            return paired or constant
        if isinstance(before, Typed):
            return isinstance(after, Typed) and self.same(before.what, after.what)
        if isinstance(before, Unknown):
            return before.outside and before == after
        if not isinstance(before, Outside) or not isinstance(after, Outside):
            return False
        return before == after or _spelled(before) == _spelled(after)

    def _other_variable(self, before: tuple[str, str], after: tuple[str, str]) -> str:
        """Why reading one module's variable may give something else than reading another's did."""
        old, new = self._base.cells(*before), self._head.cells(*after)
        if old == new:
            return ""
        alone = len(old) == len(new) == 1
        shared = {*old} & {*new} if old[0] == new[0] else set()
        for side, cells in ((self._base, old), (self._head, new)):
            for path, name in (cell for cell in cells if cell not in shared):
                if not alone and (side.is_rebound(path, name) or side.comes_twice(path, name)):
                    return f"read from {new[0][0]}, while {path} binds it again"
                if side.is_bound_by_text(path, name):
                    return f"read from {new[0][0]}, while {path} binds names by what they are called"
                if path in side.tree.identities and (path, name) in side.replacements:
                    return f"read from {new[0][0]}, while other files replace {name} of {path}"
        return ""

    def _bound(self, base: Unit, head: Unit, name: str) -> bool:
        files = self._base.changed[base.path], self._head.changed[head.path]
        return any(name in file.bound for file in files)

    def _imports(self, base: Unit, head: Unit) -> Iterator[Renaming]:
        """Imports inside a unit that bring something else in the new place."""
        for before, after in zip(base.content.imports, head.content.imports, strict=True):
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
                name = alias.asname or alias.name.partition(".")[0]
                if not self.same(*meanings):
                    yield Renaming(name, *map(_shown, meanings))
                elif meanings[0] == meanings[1]:
                    yield from self._attributes(base, head, name, *meanings)

    def _only_through(
        self, base: Unit, head: Unit, names: tuple[str, str], meanings: tuple[Meaning, Meaning]
    ) -> bool:
        """Are two names modules of the tree, of which nothing but attributes is read that mean the same?"""
        if not all(map(_is_file, meanings)) or {*names} & {*base.content.mixed, *head.content.mixed}:
            return False
        chains = [_read_of(unit.node, name) for unit, name in zip((base, head), names, strict=True)]
        if chains[0] is None or chains[0] != chains[1] or base.content.imports:
            return False
        for attribute in chains[0]:
            left = self._base.attribute(meanings[0], attribute, base.path)
            right = self._head.attribute(meanings[1], attribute, head.path)
            cells = [(_path(meaning), attribute) for meaning in meanings]
            if not (isinstance(left, Unit) and self.same(left, right)) or self._other_variable(*cells):
                return False
        return True

    @staticmethod
    def _module(side: Side, unit: Unit, node: ast.ImportFrom) -> str:
        where = side.source_of(unit.path, node)
        return (side.tree.module(where) or where) if where is not None else f"{unit.path}: {node.module}"

    def _attributes(
        self, base: Unit, head: Unit, name: str, before: Meaning, after: Meaning
    ) -> Iterator[Renaming]:
        """Names that are read from a module of the change and mean something else there now."""
        if not isinstance(before, Outside) or before.what[0] != "module":
            return
        chains = base.content.attributes
        if before == Outside(("module", "builtins")):
            # Under whatever name they are asked for.
            for each in answering_for_its_module(base, head, builtins=True):
                yield Renaming(*placement(f"{name}.{each}", base, head))
                return
        for chain in sorted(chains.get(name, ())):
            left: Meaning = before
            right, shown = after, name
            for attribute in chain:
                left = self._base.attribute(left, attribute, base.path)
                right = self._head.attribute(right, attribute, head.path)
                shown += f".{attribute}"
                if not self.same(left, right):
                    yield Renaming(shown, _shown(left), _shown(right))
                    break


def _told_by_file(found: Mapping[str, str], moved: Collection[int], unit: Unit) -> tuple[str, ...]:
    return (found.get(unit.path, "") if id(unit) in moved else unit.path, unit.qualname)


def _shared(
    rule: Callable[[Unit], Hashable], gone: Sequence[Unit], new: Sequence[Unit]
) -> tuple[list[Unit], list[Unit]]:
    """Units of both sides for which a rule has an answer of the other side."""
    known = [(unit, rule(unit)) for unit in gone], [(unit, rule(unit)) for unit in new]
    both = {value for _, value in known[0]} & {value for _, value in known[1]} - {None}
    left, right = ([unit for unit, value in each if value in both] for each in known)
    return left, right


def _do_the_same(base: Unit, head: Unit) -> bool:
    if base.content is head.content:
        return True
    contents = base.content, head.content
    marks = [content.mark for content in contents]
    if None not in marks and marks[0] != marks[1]:
        return False
    return contents[0].shape == contents[1].shape and contents[0].key == contents[1].key


def _only_noted(side: Side, unit: Unit, name: str) -> bool:
    """Does a name stand in annotations alone, which are texts when the program runs?"""
    return side.changed[unit.path].lazy_annotations and name in unit.content.noted


def _is_file(meaning: Meaning) -> bool:
    return isinstance(meaning, Outside) and meaning.what[0] == "module" and meaning.what[1].endswith(".py")


def _spelled(meaning: Outside) -> tuple[str, ...]:
    """A module outside the tree that is taken from its package, as `import a.b as b` takes it."""
    kind, *parts = meaning.what
    plain = kind == "module" and len(parts) == 2 and "/" not in "".join(parts) and parts[1].islower()
    return (kind, ".".join(parts)) if plain and not parts[1].endswith(".py") else meaning.what


def _path(meaning: Meaning) -> str:
    return meaning.what[1] if isinstance(meaning, Outside) else ""


def _read_of(node: ast.AST, name: str) -> list[str] | None:
    """The attributes that are read of a name, in the order of the text; None if it is used otherwise."""
    nodes = [*walk(node)]
    whole = [each for each in nodes if isinstance(each, ast.Name) and each.id == name]
    read = [each for each in nodes if isinstance(each, ast.Attribute) and each.value in whole]
    loaded = all(isinstance(each.ctx, ast.Load) for each in read)
    return [each.attr for each in read] if loaded and len(read) == len(whole) else None


def _noted(meaning: Meaning) -> Meaning:
    return meaning.what if isinstance(meaning, Typed) else meaning


def _shown(meaning: Meaning) -> str:
    if isinstance(meaning, Unit):
        return f"{meaning.path}: {meaning.qualname}"
    if isinstance(meaning, Typed):
        return f"{_shown(meaning.what)}, for type checkers only"
    text = meaning.why if isinstance(meaning, Unknown) else " ".join(meaning.what[:3])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
