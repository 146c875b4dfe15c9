"""Let helpers read their captures from one frozen object, and lift them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codemods.analysis.context import Context, collect, late
from codemods.analysis.decide import decide
from codemods.analysis.helpers import Helper
from codemods.analysis.lifting import Analysis
from codemods.analysis.refusals import refuse
from codemods.analysis.rules.frames import looked_at
from codemods.plans.prepared import Lift, Outcome, Prepared, back, located, prepare, translated
from codemods.plans.targets import Request
from codemods.transforms.classes import find_imports
from codemods.transforms.context import ContextNames, context_edits, prove_contexts
from codemods.transforms.naming import fresh_name
from codemods.transforms.proof import NotProven


def with_contexts(analysis: Analysis, request: Request, chosen: frozenset[Helper], lift: Lift) -> Outcome:
    """Collect the chosen helpers' captures and lift; one for which that can't be done is refused."""
    # What functions capture changes all over the outer function.
    refused = looked_at(analysis, chosen)
    while True:
        wanted = [helper for helper in request.wanted if helper not in refused]
        plain = decide(analysis, wanted)
        takers = sorted((h for h in chosen.intersection(plain.lifted)), key=lambda h: h.node.lineno)
        contexts, unfit = collect(plain.lifting, takers)
        if unfit:
            refused.update(unfit)
            continue
        if not contexts:
            outcome = lift(analysis, replace(request, wanted=wanted))
            return replace(outcome, refused={**outcome.refused, **refused})
        members = [helper for context in contexts for helper in context.helpers]
        try:
            prepared, variables = _rewritten(analysis, contexts)
        except NotProven as failure:
            refused.update({h: refuse("not-proven", h.node.lineno, failure.what) for h in members})
            continue
        outcome = lift(prepared.analysis, translated(request, wanted, prepared))
        failed = {h: outcome.refused[prepared.now[h]] for h in members if prepared.now[h] in outcome.refused}
        if not failed:
            # An object that holds another helper uses it as a value; that is not why it is refused.
            before = {h: r for h, r in plain.refused.items() if prepared.now[h] in outcome.refused}
            return back(outcome, prepared, {**before, **refused})
        for helper, refusal in failed.items():
            shown = located(refusal, prepared)
            made = any(refusal.reason.startswith(f"{variable} ") for variable in variables)
            refused[helper] = late(helper, shown) if made else shown


def _rewritten(analysis: Analysis, contexts: Sequence[Context]) -> tuple[Prepared, list[str]]:
    """The file with contexts in it, proven; the names of their variables."""
    taken: set[str] = set()
    named = []
    for context in contexts:
        stem = context.outer.name.strip("_")
        title = "".join(part.capitalize() for part in stem.split("_"))
        variable = fresh_name(analysis, ["context", f"{stem}_context"], taken)
        named.append((context, ContextNames(fresh_name(analysis, [f"_{title}Context"], taken), variable)))
    roots = [context.helpers[0].root.node for context in contexts]
    imported = find_imports(analysis, roots, ["dataclasses.dataclass", "typing.Any"], taken)
    edits = context_edits(analysis, named, imported)
    prepared = prepare(analysis.source, analysis.helpers, edits)
    prove_contexts(analysis.source, prepared.analysis.source, named, imported)
    return prepared, [names.variable for _, names in named]
