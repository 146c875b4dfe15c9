"""Statements one by one, and which of them stand on the other side in the same order."""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from codemods.review.content import Function
from codemods.review.lines import begin
from codemods.review.normal import BLOCKS, PLAIN, normalised, written
from codemods.review.parsing import shift_of
from codemods.review.units import Unit

# Fewer statements in a row stand somewhere else by chance.
_SHORTEST_RUN = 3


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement without its blocks: lines of its file, how deep it stands, what it does; `named` if a
    function at the top counts with its name.
    """

    path: str
    first: int
    last: int
    depth: int
    exact: str
    owner: str
    node: ast.AST | None = field(default=None, repr=False)
    named: bool = False

    @property
    def once(self) -> Hashable:
        """Equal for a statement of a module that binds many names, and so stands in many units."""
        return (self.path, self.first, self.exact) if self.node is None else id(self.node)

    @cached_property
    def loose(self) -> str:
        """The same for `self.x` and `x`, and where an argument is passed on under its own name or is not."""
        if not isinstance(self.node, ast.stmt):
            return self.exact
        return written(_first_line(self.node, self.depth + self.named), _loose)

    @property
    def text(self) -> str:
        """It as one line of code."""
        if self.node is None:
            return {"orelse": "else", "finalbody": "finally"}.get(self.exact, self.exact)
        return " ".join(ast.unparse(normalised(self.node, blocks=False)).split())


def statements_of(unit: Unit) -> list[Statement]:
    """The statements of a unit in the order of the text."""
    found: list[Statement] = []
    for node in unit.original:
        _walk(unit, node, 0, 0, found)
    return found


def identities(
    unit: Unit, statements: Sequence[Statement], wanted: Collection[Statement]
) -> dict[Statement, str]:
    """A name of each wanted statement of a unit that stays when the unit moves or is reformatted: what it
    does, in which unit, between which others.
    """
    texts = ["", *(statement.exact for statement in statements), ""]
    times: Counter[tuple[str, ...]] = Counter()
    found: dict[Statement, str] = {}
    for statement, around in zip(statements, zip(texts, texts[1:], texts[2:], strict=False), strict=False):
        times[around] += 1
        if statement in wanted:
            found[statement] = identity(unit.kind, unit.name, *around, str(times[around]))
    return found


def identity(*parts: str) -> str:
    """A short name of some texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _walk(unit: Unit, node: ast.stmt, depth: int, shift: int, found: list[Statement]) -> None:
    """`shift` is by how many lines the places of nodes are wrong that do not say it themselves."""
    own = shift_of(node)
    line, end = ((each or 0) + (shift if own is None else 0) for each in (node.lineno, node.end_lineno))
    if type(node) in PLAIN:
        if not _says_nothing(node):
            found.append(Statement(unit.path, line, end, depth, written(node), unit.qualname, node))
        return
    if unit.kind == "class" and depth == 1 and isinstance(node, Function):
        return
    blocks = [(name, inner) for name in BLOCKS if (inner := node.__dict__.get(name))]
    inside = shift if own is None else own
    last = max(line, min((_begin(inner[0], inside) for _, inner in blocks), default=end + 1) - 1)
    exact = written(_first_line(node, depth))
    found.append(Statement(unit.path, _begin(node, shift), last, depth, exact, unit.qualname, node))
    for name, inner in blocks:
        # What stands under `else` is not what stands under `if`.
        if name in ("orelse", "finalbody"):
            line = _begin(inner[0], inside)
            found.append(Statement(unit.path, line, line, depth + 1, name, unit.qualname))
        for child in inner:
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                _clause(unit, child, depth + 1, inside, found)
            else:
                _walk(unit, child, depth + 1, inside, found)


def _clause(
    unit: Unit,
    clause: ast.ExceptHandler | ast.match_case,
    depth: int,
    shift: int,
    found: list[Statement],
) -> None:
    line = _begin(clause, shift)
    text = written(normalised(clause, blocks=False))
    found.append(Statement(unit.path, line, line, depth, text, unit.qualname, clause))
    for child in clause.body:
        _walk(unit, child, depth + 1, shift, found)


def _says_nothing(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _first_line(node: ast.stmt, depth: int) -> ast.stmt:
    plain = normalised(node, blocks=False)
    if isinstance(plain, Function | ast.ClassDef) and depth == 0:
        plain.name = ""
    return plain


def _begin(node: ast.stmt | ast.ExceptHandler | ast.match_case, shift: int) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno + shift
    shift = shift if shift_of(node) is None else 0
    return (begin(node)[0] if isinstance(node, ast.stmt) else node.lineno) + shift


def _loose(node: ast.AST) -> ast.AST:
    """`self.x` as `x`; no `x=x` among the arguments of a call."""
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return ast.Name(id=node.attr, ctx=node.ctx) if own else node
    if isinstance(node, ast.Call) and node.keywords:
        kept = [keyword for keyword in node.keywords if not _passed_on(keyword)]
        return ast.Call(node.func, node.args, kept)
    return node


def _passed_on(keyword: ast.keyword) -> bool:
    value = _loose(keyword.value)
    return isinstance(value, ast.Name) and value.id == keyword.arg


def unaligned(
    base: Sequence[Statement], head: Sequence[Statement]
) -> tuple[list[Statement], list[Statement]]:
    """Statements of either side that have no counterpart in the order of the other."""
    numbers: dict[tuple[int, str], int] = {}
    before, after = (
        [numbers.setdefault((statement.depth, statement.exact), len(numbers)) for statement in side]
        for side in (base, head)
    )
    gone: list[Statement] = []
    new: list[Statement] = []
    for operation, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if operation != "equal":
            gone += base[i:j]
            new += head[k:m]
    return gone, new


Run = tuple[Sequence[Statement], Sequence[Statement]]


def regrouped(
    gone: Sequence[Sequence[Statement]], new: Sequence[Sequence[Statement]]
) -> tuple[set[Statement], set[Statement]]:
    """Runs of statements that stand in another unit in the same order: what of both sides is aligned by that.

    Runs are taken longest first, each statement once; those that went from one unit to one other keep their
    order among each other. A unit's own statements are never aligned with its own.
    """
    taken: tuple[set[Statement], set[Statement]] = (set(), set())
    pairs = {pair: [(gone[pair[0]], new[pair[1]])] for pair in _sharing(gone, new)}
    runs = {pair: _longest(parts, taken) for pair, parts in pairs.items()}
    while runs:
        (i, j), best = max(runs.items(), key=lambda item: len(item[1][0]))
        if len(best[0]) < _SHORTEST_RUN:
            break
        taken[0].update(best[0])
        taken[1].update(best[1])
        pairs[i, j] = [part for whole in pairs[i, j] for part in _beside(whole, best)]
        for pair in runs:
            if pair[0] == i or pair[1] == j:
                runs[pair] = _longest(pairs[pair], taken)
    return taken


def _beside(whole: Run, run: Run) -> list[Run]:
    """Statements before a run on both sides, and those after it; all of them if the run is elsewhere."""
    if run[0][0] not in whole[0] or run[1][0] not in whole[1]:
        return [whole]
    first = [side.index(own[0]) for side, own in zip(whole, run, strict=True)]
    last = [side.index(own[-1]) + 1 for side, own in zip(whole, run, strict=True)]
    return [(whole[0][: first[0]], whole[1][: first[1]]), (whole[0][last[0] :], whole[1][last[1] :])]


def _sharing(
    gone: Sequence[Sequence[Statement]], new: Sequence[Sequence[Statement]]
) -> Iterator[tuple[int, int]]:
    """Which units of both sides may have a run in common, in order."""
    having: dict[str, list[int]] = {}
    for j, after in enumerate(new):
        if len(after) >= _SHORTEST_RUN:
            for text in {statement.loose for statement in after}:
                having.setdefault(text, []).append(j)
    for i, before in enumerate(gone):
        if len(before) < _SHORTEST_RUN:
            continue
        shared: Counter[int] = Counter()
        for text, times in Counter(statement.loose for statement in before).items():
            for j in having.get(text, ()):
                shared[j] += times
        own = (before[0].path, before[0].owner)
        for j in sorted(shared):
            if shared[j] >= _SHORTEST_RUN and (new[j][0].path, new[j][0].owner) != own:
                yield i, j


def _longest(parts: Sequence[Run], taken: tuple[set[Statement], set[Statement]]) -> Run:
    return max((_longest_of(*part, taken) for part in parts), key=lambda run: len(run[0]))


def _longest_of(
    before: Sequence[Statement], after: Sequence[Statement], taken: tuple[set[Statement], set[Statement]]
) -> Run:
    free_before = [statement for statement in before if statement not in taken[0]]
    free_after = [statement for statement in after if statement not in taken[1]]
    matcher = SequenceMatcher(None, _relative(free_before), _relative(free_after), autojunk=False)
    match = matcher.find_longest_match()
    i, j, size = match.a, match.b, match.size
    # How much deeper the first one stands than what was before it does not matter.
    if size and i and j and free_before[i - 1].loose == free_after[j - 1].loose:
        i, j, size = i - 1, j - 1, size + 1
    return free_before[i : i + size], free_after[j : j + size]


def _relative(statements: Sequence[Statement]) -> list[tuple[int, str]]:
    """Statements by what they do and how much deeper each stands than the one before it."""
    depths = [0, *(statement.depth for statement in statements)]
    steps = (after - before for before, after in itertools.pairwise(depths))
    return [(step, statement.loose) for step, statement in zip(steps, statements, strict=False)]
