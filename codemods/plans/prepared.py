"""A file after rewrites that come before the lift, and the way back to the file as it is."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from codemods.equal.code import FUNCTIONS, NotProven
from codemods.plans.compose import refusals_for
from codemods.plans.request import Lift, Outcome, Request
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.nodes import first_line
from codemods.program.source import SourceError, parse_source
from codemods.rewrites.refusals import Refusal
from codemods.rewrites.text.file import Program, TextNotPreserved


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
    except SourceError as error:
        raise NotProven(str(error)) from None
    except (ValueError, StopIteration, RuntimeError):
        raise NotProven("the rewritten file has other statements than it should") from None
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
        {was[helper]: names for helper, names in outcome.lifted.items()},
        {**{was[h]: refusal.with_lines(prepared.line) for h, refusal in outcome.refused.items()}, **refused},
    )


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file rewritten, how a refusal after that is told of the file as it is, and a check of what is made of
    it, which raises `NotProven`; ``split`` are helpers whose bodies go by their names in other files.
    """

    prepared: Prepared
    explain: Callable[[Helper, Refusal], Refusal] = lambda helper, refusal: refusal
    check: Callable[[Outcome], None] = lambda outcome: None
    split: Collection[Helper] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """Helpers for which the file is to be rewritten, and how; why some others can't be among them (then they
    are found once more), and why others stay without any rewrite.
    """

    helpers: Sequence[Helper] = ()
    rewrite: Callable[[], Rewritten] | None = None
    unfit: Mapping[Helper, Refusal] = field(default_factory=dict)
    before: Mapping[Helper, Refusal] = field(default_factory=dict)


def lift_rewritten(
    analysis: Analysis,
    request: Request,
    lift: Lift,
    find: Callable[[Analysis, Request, Sequence[Helper]], Found],
) -> Outcome:
    """Rewrite, lift, refuse what fails, and again, until nothing does.

    ``find`` tells what to rewrite for helpers that are wanted and not refused.
    """
    refused: dict[Helper, Refusal] = {}
    while True:
        wanted = [helper for helper in request.wanted if helper not in refused]
        found = find(analysis, request, wanted)
        if found.unfit:
            refused.update(found.unfit)
            continue
        if found.rewrite is None:
            outcome = lift(analysis, replace(request, wanted=wanted))
            return replace(outcome, refused={**outcome.refused, **refused})
        try:
            made = found.rewrite()
            now = made.prepared.now
            outcome = lift(made.prepared.analysis, translated(request, wanted, made))
            failed = {h: outcome.refused[now[h]] for h in found.helpers if now[h] in outcome.refused}
            if not failed:
                made.check(outcome)
                before = {h: r for h, r in found.before.items() if now[h] in outcome.refused}
                return back(outcome, made.prepared, {**before, **refused})
            refused.update({h: made.explain(h, r.with_lines(made.prepared.line)) for h, r in failed.items()})
        except (NotProven, TextNotPreserved) as failure:
            refused.update(refusals_for(analysis, found.helpers, failure))
