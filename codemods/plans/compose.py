"""Lift helpers in memory: rewrites that come before, the lift, the proof; and again without what fails."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from codemods.equal.code import NotProven, reread
from codemods.equal.lift import Module, prove_lift
from codemods.plans.site import Outcome, Request, annotations_of, line_before
from codemods.program.globals import globals_of
from codemods.program.lifting import Analysis, Helper
from codemods.rewrites.lift import Lift
from codemods.rewrites.refusals import Refusal, Refusals, refuse, refused_by
from codemods.rewrites.rules.assumptions import seen_from_outside
from codemods.rewrites.rules.decision import Decision, FileNames, Names, decide
from codemods.rewrites.text.file import TextNotPreserved

_WRAPPED = ("decorated", "kwargs-at-call", "value-use")


def lift(analysis: Analysis, request: Request, wrapped: Collection[Helper] = ()) -> Outcome:
    """Rewrite what is asked for, then lift; what can't be lifted after a rewrite is not rewritten.

    Those of ``wrapped`` that a plain lift refuses for how they are used or decorated get wrappers; what is a
    wrapper already stays.
    """
    if wrapped:
        plain = lift(analysis, request)
        needing = {h for h in wrapped if h in plain.refused and plain.refused[h].code in _WRAPPED}
        done = {helper for helper in needing if _forwards(analysis, helper)}
        wanted = [helper for helper in request.wanted if helper not in done]
        more = replace(request, wanted=wanted, wrapper=request.wrapper | (needing - done))
        return lift(analysis, more, {*wrapped} - needing) if needing else plain
    refused: dict[Helper, Refusal] = {}
    while True:
        wanted = [helper for helper in request.wanted if helper not in refused]
        outcome = _attempt(analysis, replace(request, wanted=wanted))
        if isinstance(outcome, Outcome):
            return replace(outcome, refused={**outcome.refused, **refused})
        refused |= outcome


def _forwards(analysis: Analysis, helper: Helper) -> bool:
    """Tell whether all that a helper does is to call a function of its module."""
    tree, (last, *more) = analysis.tree, reversed(helper.node.body)
    call = last.value if isinstance(last, ast.Return) else None
    call = call.value if isinstance(call, (ast.Await, ast.YieldFrom)) else call
    if len(more) > bool(ast.get_docstring(helper.node)) or not isinstance(call, ast.Call):
        return False
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return tree.owner(helper.scope, name) is tree.module and (tree.module, name) in tree.binders


def _attempt(analysis: Analysis, request: Request) -> Outcome | dict[Helper, Refusal]:
    """Rewrite and lift once; helpers that can't be lifted after a rewrite instead, with why."""
    if not (request.wrapper or request.cell):
        return compose(analysis, request)
    from codemods.plans.rewrites import cells, wrappers

    given = analysis
    now = {helper: helper for helper in analysis.helpers}
    rewritten: set[Helper] = set()
    # Of two, one inside the other, the outer one is split first.
    depths = {h: sum(h.scope.inside(other.scope) for other in request.wrapper) for h in request.wrapper}
    levels = [{h for h in depths if depths[h] == depth} for depth in sorted({*depths.values()})]
    for rewrite, asked in ((cells, request.cell), *((wrappers, level) for level in levels)):
        was = {new: old for old, new in now.items()}
        chosen = [helper for helper in request.wanted if was[helper] in asked]
        try:
            made = rewrite(analysis, request, chosen)
        except (NotProven, TextNotPreserved) as failure:
            made = refusals_for(analysis, chosen, failure)
        if isinstance(made, dict):
            if made:
                line = line_before(given.source, analysis.source)
                return {was[helper]: refusal.with_lines(line) for helper, refusal in made.items()}
            continue
        rewritten.update(was[helper] for helper in chosen)
        now = {old: made[1][new] for old, new in now.items()}
        analysis, request = made[0], request.translated(made[1])
    outcome = compose(analysis, request)
    line = line_before(given.source, analysis.source)
    was = {new: old for old, new in now.items()}
    refused = {was[helper]: refusal.with_lines(line) for helper, refusal in outcome.refused.items()}
    if failed := {helper: refused[helper] for helper in rewritten if helper in refused}:
        return failed
    return Outcome(outcome.files, [was[helper] for helper in outcome.lifted], refused)


def compose(analysis: Analysis, request: Request) -> Outcome:
    """Decide, rewrite and prove; a helper whose proof fails is refused and the rest composed again."""

    def seen(helper: Helper) -> Refusals:
        target = request.targets.get(helper)
        if target is not None:
            from codemods.plans.new_file import loaded_alike

            yield from loaded_alike(request.site, target, helper.node)
        yield from seen_from_outside(
            request.site.surroundings, analysis.tree, helper, moves=target is not None
        )

    refused: dict[Helper, Refusal] = {}
    known, asked = globals_of(analysis), set[Helper]()
    foreign = {h: known.passed_to(h, request.seams) for h in request.wanted if h in request.targets}
    while True:
        decision = decide(analysis, request.wanted, foreign, request.seams, refused, request.accepted)
        # The project is asked last: it takes longer than the file.
        new = [helper for helper in decision.lifted if helper not in asked]
        asked.update(new)
        if outside := refused_by(new, seen, request.accepted):
            refused |= outside
            continue
        try:
            write = _into_modules if request.targets else _in_place
            files = write(analysis, request, decision)
        except (NotProven, TextNotPreserved) as failure:
            if not decision.lifted:
                raise
            refused |= refusals_for(analysis, decision.lifted, failure)
            continue
        return Outcome(files, decision.lifted, decision.refused)


def refusals_for(
    analysis: Analysis, helpers: Collection[Helper], failure: NotProven | TextNotPreserved
) -> dict[Helper, Refusal]:
    """Refusals of those whose proof fails, or whose text can't be preserved; of all, if that is none's."""
    if isinstance(failure, NotProven):
        found = [helper for helper in helpers if helper.place == failure.place]
    else:
        body = analysis.source.tree.body
        around = next((s for s in body if (s.end_lineno or 0) >= failure.line), body[-1])
        found = [h for h in helpers if around.lineno <= h.node.lineno <= (around.end_lineno or 0)]
    return {helper: refusal_of(failure, helper.node.lineno) for helper in found or helpers}


def refusal_of(failure: NotProven | TextNotPreserved, line: int) -> Refusal:
    """Refuse something in a line whose proof fails, or whose text can't be preserved."""
    if isinstance(failure, NotProven):
        return refuse("not-proven", line, failure.what)
    return refuse("layout", failure.line, "this line can't be kept as it is written")


def _in_place(analysis: Analysis, request: Request, decision: Decision) -> dict[Path, str]:
    """Put every lifted helper directly before the outermost function around it, in the same block."""
    if not decision.lifted:
        return {}
    source = analysis.source
    chosen = FileNames(analysis, request.site.surroundings)
    names = {}
    for helper in decision.lifted:
        name = chosen.choose(helper, None)
        names[helper] = Names(name, defaultdict(lambda name=name: name))  # type: ignore[misc]
    known = annotations_of(analysis, request.site)
    stated = {
        (helper, need): node
        for helper in decision.lifted
        for need in decision.lifting.needs[helper]
        if (node := known.here(known.of(*need))) is not None
    }
    made = Lift(decision, names, stated)
    made.before_roots()
    text = made.program.text()
    prove_lift(analysis.tree, made.claims({}), reread(text, source.path, source), (), None)
    return {request.site.layout.rest: text}


def _into_modules(analysis: Analysis, request: Request, decision: Decision) -> dict[Path, str]:
    """Write lifted helpers to their files; what is left imports them."""
    from codemods.plans.targets import build_targets, source_imports

    source, layout = analysis.source, request.site.layout
    package = layout.source_package
    targets = build_targets(analysis, decision, request)
    names = {helper: target.names[helper] for target in targets for helper in target.helpers}
    stated = {key: node for target in targets for key, node in target.stated.items()}
    transform = Lift(decision, names, stated, package, whole=layout.rest != layout.source)
    if decision.lifted:
        transform.program.insert(*source_imports(request.site, decision, targets))
    text = transform.program.text()
    files = {layout.rest: text}
    made = []
    for target in targets:
        there = target.made([transform.function(h) for h in target.helpers])
        files[target.path] = there.text
        made.append(Module(target.module, there))
    claims = transform.claims({h: target.module for target in targets for h in target.helpers})
    prove_lift(analysis.tree, claims, reread(text, source.path, source), made, package)
    if layout.rest == layout.source and text == source.text:
        del files[layout.rest]
    return files
