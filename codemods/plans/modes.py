"""Rewrites done only where asked for, before the lift; what they leave is lifted and proven as usual.

A helper that still can't be lifted afterwards is left as it was.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codemods.analysis.entry import entry_reads
from codemods.analysis.helpers import Helper
from codemods.analysis.lifting import Analysis, Lifting
from codemods.analysis.refusals import Refusal, refuse
from codemods.analysis.rules import RESIDUAL_CHECKS
from codemods.analysis.source import Source, parse_source
from codemods.plans.compose import Composed, compose
from codemods.plans.modules import Layout
from codemods.plans.targets import Request
from codemods.transforms.edits import Edit, apply_edits
from codemods.transforms.naming import FileNames
from codemods.transforms.proof import NotProven
from codemods.transforms.residual import prove_split, split_edits


@dataclass(frozen=True, slots=True)
class Modes:
    """Helpers of which a residual is to stay."""

    residual: frozenset[Helper] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file's helpers: new texts by path, where lifted ones went, why others were refused."""

    files: Mapping[Path, str]
    targets: Mapping[Helper, Path]
    lifted: frozenset[Helper]
    refused: Mapping[Helper, Refusal]


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


def compose_with(analysis: Analysis, layout: Layout, request: Request, modes: Modes) -> Outcome:
    """Rewrite what is asked for, then lift; what is refused after a rewrite is not rewritten."""
    refused = {}
    for helper in modes.residual:
        found = _residual_refusal(analysis, helper, modes.residual)
        if found is not None:
            refused[helper] = found
    while True:
        wanted = [helper for helper in request.wanted if helper not in refused]
        rewritten = modes.residual - refused.keys()
        if not rewritten:
            return _plain(compose(analysis, layout, replace(request, wanted=wanted)), refused)
        try:
            prepared = _prepare(analysis, rewritten, request)
        except NotProven as failure:
            for helper in [failure.helper] if failure.helper is not None else rewritten:
                refused[helper] = refuse("not-proven", helper.node.lineno, failure.what)
            continue
        composed = compose(prepared.analysis, layout, _translated(request, wanted, prepared, rewritten))
        failed = {
            helper: refusal
            for helper in rewritten
            if (refusal := composed.decision.refused.get(prepared.now[helper])) is not None
        }
        if not failed:
            return _outcome(composed, prepared, refused, layout, rewritten)
        refused.update({helper: _located(refusal, prepared) for helper, refusal in failed.items()})


def _residual_refusal(analysis: Analysis, helper: Helper, chosen: Collection[Helper]) -> Refusal | None:
    for other in chosen:
        if other is not helper and helper.scope.inside(other.scope):
            reason = (
                f"{helper.name} is inside {other.name}, of which a residual stays; take them one at a time"
            )
            return refuse("not-understood", helper.node.lineno, reason)
    attempt = Lifting(analysis, {helper}, {})
    for check in RESIDUAL_CHECKS:
        found = check(attempt, helper)
        if found is not None:
            return found
    return None


def _prepare(analysis: Analysis, residual: Collection[Helper], request: Request) -> Prepared:
    """Split the helpers of which a residual stays.

    Raises:
        NotProven: if the text does not come out as intended.
    """
    source, chosen = analysis.source, FileNames(analysis)
    names: dict[Helper, str] = {}
    for helper in sorted(residual, key=lambda h: h.node.lineno):
        names[helper] = next(name for _ in range(3) if (name := chosen.choose(helper, None)) != helper.name)
    edits = [edit for helper, name in names.items() for edit in split_edits(source, helper, name)]
    text = apply_edits(source.text, edits)
    made = parse_source(text, source.path, encoding=source.encoding, bom=source.bom)
    prove_split(source, made, names)
    after = Analysis(made)
    prepared = Prepared(after, {}, edits, source)
    places = {source.offset(h.node.lineno, h.node.col_offset): h for h in analysis.helpers}
    now = {}
    for helper in after.helpers:
        place = prepared.origin(made.offset(helper.node.lineno, helper.node.col_offset))
        if place in places:
            now[places[place]] = helper
    for helper in names:
        now[helper].entry = entry_reads(source, helper)
    return replace(prepared, now=now)


def _translated(
    request: Request, wanted: Collection[Helper], prepared: Prepared, residual: Collection[Helper]
) -> Request:
    """The same request about the rewritten file; a body goes by its helper's name in a file of its own."""
    now = prepared.now
    renames = {now[helper]: helper.name for helper in residual}
    renames.update({now[helper]: name for helper, name in request.renames.items()})
    targets = {now[helper]: path for helper, path in request.targets.items()}
    return replace(request, wanted=[now[helper] for helper in wanted], targets=targets, renames=renames)


def _plain(composed: Composed, refused: Mapping[Helper, Refusal]) -> Outcome:
    decision = composed.decision
    return Outcome(
        composed.files, composed.targets, frozenset(decision.lifted), {**decision.refused, **refused}
    )


def _outcome(
    composed: Composed,
    prepared: Prepared,
    refused: Mapping[Helper, Refusal],
    layout: Layout,
    residual: Collection[Helper],
) -> Outcome:
    """The outcome in terms of the file as it is.

    Raises:
        NotProven: if a residual captures anything but what it hands over.
    """
    decision = composed.decision
    back = {helper: before for before, helper in prepared.now.items()}
    _check_residuals(composed, prepared, layout, residual)
    located = {back[helper]: _located(refusal, prepared) for helper, refusal in decision.refused.items()}
    return Outcome(
        composed.files,
        {back[helper]: path for helper, path in composed.targets.items()},
        frozenset(back[helper] for helper in decision.lifted),
        {**located, **refused},
    )


def _check_residuals(
    composed: Composed, prepared: Prepared, layout: Layout, residual: Collection[Helper]
) -> None:
    """Ask the compiler what the residuals in the new text capture: just what is handed over."""
    source = prepared.before
    after = Analysis(parse_source(composed.files[layout.rest], source.path))
    for helper in residual:
        body = prepared.now[helper]
        needs = {name for name, owner in composed.decision.lifting.needs[body] if owner.kind != "module"}
        same = [h for h in after.helpers if h.qualname == helper.qualname]
        if not any(h.scope.free == needs for h in same):
            raise NotProven(f"{helper.name}: its residual captures more than it hands over", helper)


def _located(refusal: Refusal, prepared: Prepared) -> Refusal:
    """A refusal with the lines of the file as it is."""

    def line(match: re.Match[str]) -> str:
        return f"line {prepared.line(int(match.group(1)))}"

    return replace(
        refusal,
        line=prepared.line(refusal.line),
        reason=re.sub(r"\bline (\d+)\b", line, refusal.reason),
    )
