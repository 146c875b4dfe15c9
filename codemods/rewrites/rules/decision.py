"""Decide for a set of helpers which are lifted and which stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Lifting
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, refused_by
from codemods.rewrites.rules import assumptions, calls, definition, moving

# In the order in which they are tried; the first refusal counts.
CHECKS: tuple[Callable[[Lifting, Helper], Refusals], ...] = (
    # Before names are compared: the scope of type parameters is no function's.
    definition.understood,
    definition.no_class_cell,
    assumptions.no_dynamic_names,
    assumptions.not_looked_at,
    calls.no_shared_writes,
    calls.bound_once,
    calls.defined_first,
    definition.plain_definition,
    definition.annotations_safe,
    calls.only_called,
    calls.captures_settled,
    moving.globals_travel,
    moving.passed_globals_settled,
    assumptions.lifetimes_unseen,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The helpers that can be lifted together, in the order of the text, and the refusals of the others."""

    lifting: Lifting
    lifted: list[Helper]
    refused: dict[Helper, Refusal]


def decide(
    analysis: Analysis,
    wanted: Collection[Helper],
    foreign: Mapping[Helper, frozenset[str]] | None = None,
    seams: frozenset[str] = frozenset(),
    refused: Mapping[Helper, Refusal] | None = None,
    accepted: Accepted | None = None,
) -> Decision:
    """Refuse what some rule forbids until the rest can be lifted together.

    ``foreign`` and ``seams`` are as in `Lifting`; ``refused`` are refusals known beforehand;
    ``accepted`` assumptions refuse nothing.
    """
    refusals = dict(refused or {})
    candidates = {helper for helper in wanted if helper not in refusals}
    while True:
        lifting = Lifting(analysis, candidates, foreign or {}, seams)
        found = refused_by(candidates, partial(_check, lifting), accepted)
        if not found:
            return _retried(lifting, refusals, refused or {}, accepted)
        refusals.update(found)
        candidates = candidates - found.keys()


def _retried(
    lifting: Lifting,
    refusals: dict[Helper, Refusal],
    final: Mapping[Helper, Refusal],
    accepted: Accepted | None,
) -> Decision:
    """Try once more what may have been refused only because of another helper that was refused with it."""
    for helper in sorted(refusals, key=lambda h: h.node.lineno):
        calls_refused = any(
            lifting.analysis.helper_at(owner, name) in refusals for name, owner, _ in helper.reads
        )
        if helper in final or not calls_refused:
            continue
        larger = Lifting(lifting.analysis, lifting.candidates | {helper}, lifting.foreign, lifting.seams)
        near = [candidate for candidate in larger.candidates if candidate.root is helper.root]
        if not refused_by(near, partial(_check, larger), accepted):
            lifting = larger
    lifted = sorted(lifting.candidates, key=lambda helper: (helper.node.lineno, helper.node.col_offset))
    return Decision(lifting, lifted, {h: r for h, r in refusals.items() if h not in lifting.candidates})


def _check(lifting: Lifting, helper: Helper) -> Refusals:
    for check in CHECKS:
        yield from check(lifting, helper)
