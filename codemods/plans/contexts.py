"""Let helpers read their captures from one frozen object, and lift them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from codemods.decide.classes import class_names, find_imports
from codemods.decide.context import Context, collect, late
from codemods.decide.decision import decide
from codemods.decide.refusals import Refusal
from codemods.decide.rules.frames import looked_at
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis, Need
from codemods.plans.annotating import annotations_of
from codemods.plans.prepared import Found, Lift, Outcome, Rewritten, lift_rewritten, prepare
from codemods.plans.request import Request
from codemods.prove.context import prove_contexts
from codemods.rewrite.context import collect_captures


def with_contexts(analysis: Analysis, request: Request, chosen: frozenset[Helper], lift: Lift) -> Outcome:
    """Collect the chosen helpers' captures and lift; one for which that can't be done is refused."""

    def find(wanted: Sequence[Helper], refused: Collection[Helper]) -> Found[Context]:
        # Functions in them would capture the object instead of what it holds.
        if seen := looked_at(analysis, chosen.intersection(wanted)):
            return Found((), seen, {})
        plain = decide(analysis, wanted)
        takers = sorted(chosen.intersection(plain.lifted), key=lambda h: h.node.lineno)
        contexts, unfit = collect(plain.lifting, takers)
        # An object that holds another helper uses it as a value; that is not why it is refused.
        return Found(contexts, unfit, plain.refused)

    return lift_rewritten(analysis, request, lift, find, lambda found: _rewritten(analysis, request, found))


def _rewritten(analysis: Analysis, request: Request, contexts: Sequence[Context]) -> Rewritten:
    """The file with contexts in it, proven."""
    taken: set[str] = set()
    named = [(c, class_names(analysis, c.outer, "Context", ["context"], taken)) for c in contexts]
    roots = [context.helpers[0].root.node for context in contexts]
    imported = find_imports(analysis, roots, ["dataclasses.dataclass", "typing.Any"], taken)
    known = annotations_of(analysis, request)
    fields = {name for context in contexts for name, _ in context.fields}

    def annotate(need: Need, at: ast.AST) -> ast.expr | None:
        return known.here(known.of(*need, at), fields)

    prepared = prepare(collect_captures(analysis, named, imported, annotate), analysis.helpers)
    prove_contexts(analysis.source, prepared.analysis.source, named, imported)

    def explain(helper: Helper, refusal: Refusal) -> Refusal:
        of_context = any(refusal.reason.startswith(f"{names.variable} ") for _, names in named)
        return late(helper, refusal.line) if of_context else refusal

    return Rewritten(prepared, explain)
