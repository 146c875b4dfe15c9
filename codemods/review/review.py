"""Compare two trees."""

from __future__ import annotations

import ast
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace

from codemods.review.binding_order import TooEarly, too_early
from codemods.review.circles import early_outside
from codemods.review.content import Contents, Function
from codemods.review.exports import lost, met, other_package
from codemods.review.import_changes import dropped, fresh
from codemods.review.imports import Imports, Loads, Outer
from codemods.review.lifts import Lifts
from codemods.review.lines import begin
from codemods.review.loading import Programs, Step, out_of_order
from codemods.review.loops import Loops
from codemods.review.match import Matching, Pair
from codemods.review.report import (
    Changed,
    Early,
    Gone,
    Left,
    Lifted,
    New,
    NotJudged,
    Outcome,
    Place,
    Regrouped,
    Renamed,
    Review,
    Same,
)
from codemods.review.sequences import sequences
from codemods.review.side import Side
from codemods.review.statements import Statement, identities, identity, regrouped, statements_of, unaligned
from codemods.review.trees import Tree, differing, narrowed
from codemods.review.units import MODULE, Unit


def review(base: Tree, head: Tree, paths: Sequence[str] = ()) -> Review:
    """Review the difference between two trees, below some paths or everywhere."""
    paths = narrowed(paths, base, head)
    touched = differing(base, head)
    changed = [path for path in touched if not paths or _below(path, paths)]
    python = [path for path in changed if path.endswith((".py", ".pyi")) and _is_file(path, base, head)]
    contents = Contents()
    before, after = (Side(tree, python, contents, touched) for tree in (base, head))
    imports = Imports(before), Imports(after)
    programs = Programs(imports[0]), Programs(imports[1])
    moved, early = out_of_order(*programs), [*too_early(*imports), *early_outside(*imports)]
    matching = Matching(before, after)
    lifts = Lifts(before, after, matching)
    if lifts.pairs:
        matching = Matching(before, after, lifts.pairs)
    loops = Loops(before, after, matching, lifts.names, lifts.called_as)
    if loops.pairs:
        matching = Matching(before, after, [*lifts.pairs, *loops.pairs], loops.holders)
    told = [*_unreadable(before, "base"), *_unreadable(after, "head")]
    # A file outside the change that can't be read is none that imports from it, before or after.
    told = [(path, why) for path, why in told if path in python]
    kinds = {path: _kind(path, base, head) for path in changed if path not in python}
    told += [(path, kind) for path, kind in kinds.items() if kind]
    told += [(path, why) for path in python if (why := other_package(path, base, head))]
    not_judged = [NotJudged(_shown(path), why, _content(path, base, head)) for path, why in told]
    residue = _Residue(matching, lifts.units | loops.units)
    return Review(
        outcomes=tuple(residue.outcomes()),
        imports=tuple(_import(*each) for each in fresh(imports[0], programs[1])),
        dropped=tuple(_dropped(each) for each in dropped(imports[0], programs[1])),
        order=tuple(_step(step) for step in moved),
        early=tuple(_early(found) for found in early),
        lost=tuple(lost(before, after, matching)),
        met=tuple(met(before, after)),
        not_lifted=(*lifts.refused, *loops.refused),
        not_judged=tuple(not_judged),
        not_python=tuple(path for path, kind in kinds.items() if not kind),
        files=len(python),
        statements=residue.statements,
    )


class _Residue:
    """The statements of unproven units, less those that stand on the other side."""

    def __init__(self, matching: Matching, lifted: Collection[int]) -> None:
        self._matching = matching
        self._lifted = lifted
        self._statements: dict[int, list[Statement]] = {}
        self._gone: dict[int, list[Statement]] = {}
        self._new: dict[int, list[Statement]] = {}
        every: tuple[set[Hashable], set[Hashable]] = (set(), set())
        for pair in matching.pairs:
            if not pair.equal:
                sides = self._of(pair.base), self._of(pair.head)
                for known, side in zip(every, sides, strict=True):
                    known.update(statement.once for statement in side)
                self._gone[id(pair.base)], self._new[id(pair.head)] = _named(pair, sides, *unaligned(*sides))
        for unit in matching.gone:
            self._gone[id(unit)] = self._of(unit)
            every[0].update(statement.once for statement in self._gone[id(unit)])
        for unit in matching.new:
            self._new[id(unit)] = self._of(unit)
            every[1].update(statement.once for statement in self._new[id(unit)])
        self.statements = (len(every[0]), len(every[1]))
        one_sided = (unit for units in (matching.gone, matching.new) for unit in units)
        self._one_sided = {unit.name for unit in one_sided if unit.kind == "binding"}
        aligned = regrouped(self._sequences("gone"), self._sequences("new"))
        self._aligned = [{statement.once for statement in side} for side in aligned]

    def _sequences(self, side: str) -> list[Sequence[Statement]]:
        ours, theirs = (self._gone, self._new) if side == "gone" else (self._new, self._gone)
        pairs = [pair for pair in self._matching.pairs if not pair.equal]
        # What means something else in the new place is not what stands elsewhere in the same words.
        alone = [_unit(pair, side) for pair in pairs if pair.other_names]
        together = [_unit(pair, side) for pair in pairs if not pair.other_names]
        together += self._matching.gone if side == "gone" else self._matching.new
        apart, joined = ([(unit, ours[id(unit)]) for unit in each] for each in (alone, together))
        nested = (each for row in theirs.values() for each in row if each.depth)
        other = {each.loose for each in nested if isinstance(each.node, Function)}
        return sequences(apart, joined, other, self._one_sided)

    def _of(self, unit: Unit) -> list[Statement]:
        if id(unit) not in self._statements:
            self._statements[id(unit)] = statements_of(unit)
        return self._statements[id(unit)]

    def outcomes(self) -> Iterable[Outcome]:
        for pair in self._matching.pairs:
            yield self._pair(pair)
        for unit in self._matching.gone:
            left = self._left(unit, "gone")
            yield Gone(_place(unit), left) if left else Regrouped(_place(unit), None, _unit_id(unit))
        for unit in self._matching.new:
            left = self._left(unit, "new")
            yield New(_place(unit), left) if left else Regrouped(None, _place(unit), _unit_id(unit))

    def _pair(self, pair: Pair) -> Outcome:
        base, head = _place(pair.base), _place(pair.head)
        if pair.equal and {id(pair.base), id(pair.head)} & set(self._lifted):
            return Lifted(base, head)
        if pair.equal:
            return Same(base, head) if base.qualname == head.qualname else Renamed(base, head)
        gone, new = self._left(pair.base, "gone"), self._left(pair.head, "new")
        if not gone and not new and not pair.other_names:
            return Regrouped(base, head, _unit_id(pair.base, pair.head))
        names = (
            replace(n, id=identity("name", pair.head.name, n.name, n.before, n.after))
            for n in pair.other_names
        )
        return Changed(base, head, gone, new, tuple(names))

    def _left(self, unit: Unit, side: str) -> tuple[Left, ...]:
        """List the statements that are left of a unit of the base (gone) or the head (new)."""
        statements = (self._gone if side == "gone" else self._new)[id(unit)]
        aligned = self._aligned[side == "new"]
        left = [statement for statement in statements if statement.once not in aligned]
        names = identities(unit, self._of(unit), set(left)) if left else {}
        return tuple(Left(s.path, s.first, s.last, identity(side, names[s]), s.text) for s in left)


def _unit(pair: Pair, side: str) -> Unit:
    return pair.base if side == "gone" else pair.head


def _named(
    pair: Pair,
    sides: tuple[list[Statement], list[Statement]],
    gone: list[Statement],
    new: list[Statement],
) -> tuple[list[Statement], list[Statement]]:
    """Where the text is the same and a name means something else, the statements with that name remain."""
    if not pair.other_names:
        return gone, new
    names = {renaming.name.partition(".")[0] for renaming in pair.other_names}
    if MODULE in names:
        return sides
    return (
        [s for s in sides[0] if any(f"id={name!r}" in s.exact for name in names)],
        [s for s in sides[1] if any(f"id={name!r}" in s.exact for name in names)],
    )


def _unit_id(*units: Unit) -> str:
    return identity("unit", *(part for unit in units for part in (unit.kind, unit.name, unit.content.text)))


def _step(step: Step) -> Left:
    text = f"{step.label} runs in another order"
    return Left(step.path, step.first, step.last, identity("order", step.label), text)


def _early(found: TooEarly) -> Early:
    text = f"{found.name} of {found.path} may be read before it is there"
    name = identity("early", found.path, found.name)
    return Early(found.read_in, found.first, found.last, name, text, found.path, found.name)


def _place(unit: Unit) -> Place:
    return Place(unit.path, unit.qualname, begin(unit.original[0])[0])


def _import(path: str, node: ast.Import | ast.ImportFrom) -> Left:
    text = ast.unparse(node)
    return Left(path, node.lineno, node.end_lineno or node.lineno, identity("import", text), text)


def _dropped(gone: Loads | Outer) -> Left:
    name = gone.path if isinstance(gone, Loads) else gone.module
    text = f"{name} is not loaded from the change any more, and does something when it is, or is read"
    first, last = gone.node.lineno, gone.node.end_lineno or gone.node.lineno
    return Left(gone.by, first, last, identity("dropped", name), text)


def _unreadable(side: Side, title: str) -> Iterable[tuple[str, str]]:
    other = {path: why for path in side.changed if (why := side.types_in_earnest(path))}
    return ((path, f"{title}: {why}") for path, why in sorted((side.unreadable | other).items()))


def _content(path: str, *trees: Tree) -> str:
    """Which change of a file it is."""
    return identity("file", _shown(path), *(tree.identities.get(path, "") for tree in trees))


def _kind(path: str, base: Tree, head: Tree) -> str:
    """Why it can't be told what a path is; empty for a file that is not Python."""
    identity = head.identities.get(path) or base.identities[path]
    if identity.startswith(("link ", "submodule ")):
        return "a " + identity.split()[0]
    if identity.startswith("special "):
        return "not a regular file"
    if path != _shown(path):
        return "its name is not UTF-8"
    return ""


def _is_file(path: str, base: Tree, head: Tree) -> bool:
    regular = all(" " not in tree.identities.get(path, "") for tree in (base, head))
    return regular and path == _shown(path)


def _shown(path: str) -> str:
    """A path as a text; bytes of its name that are none, as their numbers."""
    return path.encode("utf-8", "backslashreplace").decode()


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(folder in (".", path) or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)
