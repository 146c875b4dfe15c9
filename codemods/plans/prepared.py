"""A file after rewrites that come before the lift, and the way back to the file as it is."""

from __future__ import annotations

import ast
import difflib
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic, Protocol, TypeVar

from codemods.decide.refusals import Refusal
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.facts.nodes import first_line
from codemods.facts.source import Source, SourceError, parse_source
from codemods.plans.compose import refusals_for
from codemods.plans.request import Lift, Outcome, Request
from codemods.prove.code import FUNCTIONS, NotProven
from codemods.rewrite.program import Program, TextNotPreserved


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file after the rewrites; ``now`` says what each helper of the file as it is has become."""

    analysis: Analysis
    now: Mapping[Helper, Helper]
    rows: Sequence[tuple[int, ast.stmt]]

    def line(self, line: int) -> int:
        """The line of the file as it is that a line of the rewritten text comes from: that of the statement
        which begins there or before.
        """
        at = bisect_right(self.rows, line, key=lambda row: row[0]) - 1
        if at < 0:
            return 1
        first, statement = self.rows[at]
        return min(first_line(statement) + line - first, statement.end_lineno or 1)


def prepare(program: Program, helpers: Sequence[Helper]) -> Prepared:
    """Analyse a rewritten file, and find the helpers of the file as it is in it.

    Raises:
        NotProven: if it can't be read, or has lost one.
    """
    before = program.source
    try:
        made = parse_source(program.text(), before.path, encoding=before.encoding, bom=before.bom)
        pairs = program.pairs(made.tree)
    except (SourceError, ValueError, StopIteration, RuntimeError) as error:
        raise NotProven(str(error)) from None
    analysis = Analysis(made)
    came_from = dict(pairs)
    of_node = {helper.node: helper for helper in helpers}
    now = {
        of_node[old]: helper
        for helper in analysis.helpers
        if (old := came_from.get(helper.node)) is not None and isinstance(old, FUNCTIONS) and old in of_node
    }
    if now.keys() != set(helpers):
        raise NotProven("a helper is lost")
    rows = sorted(((first_line(new), old) for new, old in pairs), key=lambda row: row[0])
    return Prepared(analysis, now, rows)


def translated(request: Request, wanted: Collection[Helper], made: Rewritten) -> Request:
    """The same request about the rewritten file."""
    now = made.prepared.now
    renames = {now[helper]: helper.name for helper in made.split}
    renames.update({now[helper]: name for helper, name in request.renames.items()})
    return replace(
        request,
        wanted=[now[helper] for helper in wanted],
        targets={now[helper]: path for helper, path in request.targets.items()},
        renames=renames,
        residual=frozenset(now[helper] for helper in request.residual),
        context=frozenset(now[helper] for helper in request.context),
        box=frozenset(now[helper] for helper in request.box),
    )


def back(outcome: Outcome, prepared: Prepared, refused: Mapping[Helper, Refusal]) -> Outcome:
    """An outcome of the rewritten file in terms of the file as it is, with refusals that came before."""
    was = {helper: before for before, helper in prepared.now.items()}
    return Outcome(
        outcome.files,
        {was[helper]: path for helper, path in outcome.targets.items()},
        {was[helper]: names for helper, names in outcome.lifted.items()},
        {**{was[h]: refusal.with_lines(prepared.line) for h, refusal in outcome.refused.items()}, **refused},
    )


class Group(Protocol):
    """Helpers that share one rewrite."""

    @property
    def helpers(self) -> Sequence[Helper]: ...


G = TypeVar("G", bound=Group)


@dataclass(frozen=True, slots=True)
class Found(Generic[G]):
    """Groups to be rewritten, why some helpers can't be in one, and why others stay without any rewrite."""

    groups: Sequence[G]
    unfit: Mapping[Helper, Refusal]
    before: Mapping[Helper, Refusal]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file rewritten, how a refusal after that is told of the file as it is, and a check of what is made of
    it, which raises `NotProven`; ``split`` are helpers whose bodies go by their names in other files.
    """

    prepared: Prepared
    explain: Callable[[Helper, Refusal], Refusal] = lambda helper, refusal: refusal
    check: Callable[[Outcome], None] = lambda outcome: None
    split: Collection[Helper] = ()


def lift_rewritten(
    analysis: Analysis,
    request: Request,
    lift: Lift,
    find: Callable[[Sequence[Helper], Collection[Helper]], Found[G]],
    rewrite: Callable[[Sequence[G]], Rewritten],
) -> Outcome:
    """Rewrite groups of helpers, lift, refuse what fails, and again, until nothing does.

    ``find`` gives the groups among the helpers wanted, but for those refused.
    """
    refused: dict[Helper, Refusal] = {}
    while True:
        wanted = [helper for helper in request.wanted if helper not in refused]
        found = find(wanted, refused)
        if found.unfit:
            refused.update(found.unfit)
            continue
        if not found.groups:
            outcome = lift(analysis, replace(request, wanted=wanted))
            return replace(outcome, refused={**outcome.refused, **refused})
        members = [helper for group in found.groups for helper in group.helpers]
        try:
            made = rewrite(found.groups)
            now = made.prepared.now
            outcome = lift(made.prepared.analysis, translated(request, wanted, made))
            failed = {h: outcome.refused[now[h]] for h in members if now[h] in outcome.refused}
            if not failed:
                made.check(outcome)
                before = {h: r for h, r in found.before.items() if now[h] in outcome.refused}
                return back(outcome, made.prepared, {**before, **refused})
            refused.update({h: made.explain(h, r.with_lines(made.prepared.line)) for h, r in failed.items()})
        except (NotProven, TextNotPreserved) as failure:
            refused.update(refusals_for(analysis, members, failure))


def line_before(source: Source, left: Source) -> Callable[[int], int]:
    """The line of ``source`` for each line of what is left of it."""

    @cache
    def blocks() -> list[tuple[int, int, int, int]]:
        pairs = difflib.SequenceMatcher(None, source.lines, left.lines)
        return [(a, b, c, d) for _, a, b, c, d in pairs.get_opcodes()]

    def line(number: int) -> int:
        if left.text == source.text:
            return number
        for start, end, first, last in blocks():
            if first <= number - 1 < last:
                return min(start + (number - 1 - first), max(start, end - 1)) + 1
        return number

    return line
