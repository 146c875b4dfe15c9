"""A file after rewrites that come before the lift, and the way back to the file as it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from codemods.decide.refusals import Refusal, refuse
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.facts.source import Source, SourceError, parse_source
from codemods.plans.compose import Composed
from codemods.plans.targets import Request
from codemods.prove.code import NotProven
from codemods.rewrite.edits import Edit, apply_edits


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file's helpers: new texts by path, where lifted ones went, why others were refused.

    ``lifted`` has for each lifted helper the names of the outer functions' variables that it is passed.
    """

    files: Mapping[Path, str]
    targets: Mapping[Helper, Path]
    lifted: Mapping[Helper, frozenset[str]]
    refused: Mapping[Helper, Refusal]


Lift = Callable[[Analysis, Request], Outcome]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file after the rewrites; ``now`` says what each helper of the file as it is has become."""

    analysis: Analysis
    now: Mapping[Helper, Helper]
    edits: Sequence[Edit]
    before: Source

    def origin(self, offset: int) -> int:
        """The offset in the file as it is that an offset in the rewritten text comes from."""
        shift = 0
        for edit in sorted(self.edits):
            begin = edit.start + shift
            if offset < begin:
                break
            if offset < begin + len(edit.text):
                return edit.start - (edit.start == edit.end) + (offset > begin and edit.start < edit.end)
            shift += len(edit.text) - (edit.end - edit.start)
        return offset - shift

    def line(self, line: int) -> int:
        """The line of the file as it is that a line of the rewritten text comes from."""
        at = self.origin(self.analysis.source.starts[line - 1])
        return max(1, bisect_right(self.before.starts[:-1], at))


def prepare(source: Source, helpers: Sequence[Helper], edits: Sequence[Edit]) -> Prepared:
    """Analyse a rewritten file, and find the helpers of the file as it is in it.

    Raises:
        NotProven: if it can't be read, or has lost one.
    """
    text = apply_edits(source.text, edits)
    try:
        made = parse_source(text, source.path, encoding=source.encoding, bom=source.bom)
    except SourceError as error:
        raise NotProven(str(error)) from None
    prepared = Prepared(Analysis(made), {}, edits, source)
    places = {source.offset(h.node.lineno, h.node.col_offset): h for h in helpers}
    now: dict[Helper, Helper] = {}
    for helper in prepared.analysis.helpers:
        place = prepared.origin(made.offset(helper.node.lineno, helper.node.col_offset))
        if place in places:
            now[places[place]] = helper
    if now.keys() != set(helpers):
        raise NotProven("a helper is lost")
    return replace(prepared, now=now)


def translated(
    request: Request, wanted: Collection[Helper], prepared: Prepared, split: Collection[Helper] = ()
) -> Request:
    """The same request about the rewritten file; a body goes by its helper's name in a file of its own."""
    now = prepared.now
    renames = {now[helper]: helper.name for helper in split}
    renames.update({now[helper]: name for helper, name in request.renames.items()})
    targets = {now[helper]: path for helper, path in request.targets.items()}
    return replace(request, wanted=[now[helper] for helper in wanted], targets=targets, renames=renames)


def outcome_of(composed: Composed) -> Outcome:
    """The outcome of a plain lift."""
    decision = composed.decision
    lifted = {
        helper: frozenset(name for name, owner in decision.lifting.needs[helper] if owner.kind != "module")
        for helper in decision.lifted
    }
    return Outcome(composed.files, composed.targets, lifted, decision.refused)


def back(outcome: Outcome, prepared: Prepared, refused: Mapping[Helper, Refusal]) -> Outcome:
    """An outcome of the rewritten file in terms of the file as it is, with refusals that came before."""
    was = {helper: before for before, helper in prepared.now.items()}
    return Outcome(
        outcome.files,
        {was[helper]: path for helper, path in outcome.targets.items()},
        {was[helper]: names for helper, names in outcome.lifted.items()},
        {**{was[h]: located(refusal, prepared) for h, refusal in outcome.refused.items()}, **refused},
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


Explain = Callable[[Helper, Refusal], Refusal]


def lift_rewritten(
    analysis: Analysis,
    request: Request,
    lift: Lift,
    find: Callable[[Sequence[Helper], Collection[Helper]], Found[G]],
    rewrite: Callable[[Sequence[G]], tuple[Prepared, Explain]],
) -> Outcome:
    """Rewrite groups of helpers, lift, refuse what fails, and again, until nothing does.

    ``find`` gives the groups among the helpers wanted, but for those refused; ``rewrite`` the file rewritten,
    and how a refusal after it is told of the file as it is.
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
            prepared, explain = rewrite(found.groups)
        except NotProven as failure:
            refused.update({h: refuse("not-proven", h.node.lineno, failure.what) for h in members})
            continue
        outcome = lift(prepared.analysis, translated(request, wanted, prepared))
        failed = {h: outcome.refused[prepared.now[h]] for h in members if prepared.now[h] in outcome.refused}
        if not failed:
            before = {h: r for h, r in found.before.items() if prepared.now[h] in outcome.refused}
            return back(outcome, prepared, {**before, **refused})
        refused.update({h: explain(h, located(refusal, prepared)) for h, refusal in failed.items()})


def located(refusal: Refusal, prepared: Prepared) -> Refusal:
    """A refusal with the lines of the file as it is."""

    def line(match: re.Match[str]) -> str:
        return f"line {prepared.line(int(match.group(1)))}"

    return replace(
        refusal,
        line=prepared.line(refusal.line),
        reason=re.sub(r"\bline (\d+)\b", line, refusal.reason),
    )
