"""Compose, in memory, every file that a lift makes or changes, and prove it before anyone sees it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from codemods.equal.code import NotProven, reread
from codemods.equal.lift import Module, prove_lift
from codemods.plans.met import names_met, not_loaded_alike
from codemods.plans.request import Outcome, Request, annotations_of
from codemods.program.globals import globals_of
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis, Need
from codemods.rewrites.lift.decision import Decision, decide
from codemods.rewrites.lift.transform import Lift
from codemods.rewrites.naming import FileNames, Met, Names, find_imports
from codemods.rewrites.refusals import Refusal, Refusals, refuse, refused_by
from codemods.rewrites.rules.assumptions import seen_from_outside
from codemods.rewrites.text.file import TextNotPreserved
from codemods.rewrites.text.imports import imports_above
from codemods.values.annotations import Annotation, Annotations


def compose(analysis: Analysis, request: Request) -> Outcome:
    """Decide, rewrite and prove; a helper whose proof fails is refused and the rest composed again."""

    def seen(helper: Helper) -> Refusals:
        around, target = request.site.surroundings, request.targets.get(helper)
        if target is not None:
            other = around.once(("loaded", target), lambda: not_loaded_alike(request.site, target))
            if other is not None:
                yield refuse(other[0], helper.node, other[1])
        yield from seen_from_outside(around, analysis.tree, helper, moves=target is not None)

    refused = refused_by(request.wanted, seen, request.accepted)
    while True:
        known = globals_of(analysis)
        foreign = {h: known.passed_to(h, request.seams) for h in request.wanted if h in request.targets}
        decision = decide(analysis, request.wanted, foreign, request.seams, refused, request.accepted)
        try:
            write = _into_modules if request.targets else _in_place
            files = write(analysis, request, decision)
        except (NotProven, TextNotPreserved) as failure:
            if not decision.lifted:
                raise
            refused |= refusals_for(analysis, decision.lifted, failure)
            continue
        needs = decision.lifting.needs
        passed = {h: frozenset(n for n, owner in needs[h] if owner.kind != "module") for h in decision.lifted}
        return Outcome(files, passed, decision.refused)


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
    """The refusal of something in a line whose proof fails, or whose text can't be preserved."""
    if isinstance(failure, NotProven):
        return refuse("not-proven", line, failure.what)
    return refuse("layout", failure.line, "this line can't be kept as it is written")


def _in_place(analysis: Analysis, request: Request, decision: Decision) -> dict[Path, str]:
    """Put every lifted helper directly before the outermost function around it, in the same block."""
    source = analysis.source
    chosen = FileNames(analysis, request.site.surroundings)
    names = {}
    for helper in decision.lifted:
        name = chosen.choose(helper, None)
        names[helper] = Names(name, defaultdict(lambda name=name: name))  # type: ignore[misc]
    annotations = annotations_of(analysis, request)
    stated, missing = _stated(
        analysis, annotations, decision, {n.definition for n in names.values()}, names_met(request.site)
    )
    lift = Lift(decision, names, stated)
    lift.before_roots()
    if decision.lifted:
        first = min(helper.top.lineno for helper in decision.lifted)
        lift.program.insert(*imports_above(source, source.newline.join(missing), first))
    text = lift.text()
    claims = lift.claims({})
    prove_lift(analysis.tree, claims, reread(text, source.path, source), (), None, missing)
    return {request.site.layout.rest: text} if decision.lifted else {}


def _stated(
    analysis: Analysis, annotations: Annotations, decision: Decision, taken: set[str], met: Met
) -> tuple[dict[tuple[Helper, Need], ast.expr], tuple[str, ...]]:
    """The annotations of new parameters, and import statements that the file lacks for them."""
    found, bare = dict[tuple[Helper, Need], ast.expr](), list[tuple[Helper, Need]]()
    for helper in decision.lifted:
        for need in decision.lifting.needs[helper]:
            node = annotations.here(annotations.of(*need))
            if node is not None:
                found[helper, need] = node
            elif annotations.fallback is not None:
                bare.append((helper, need))
    if not bare:
        return found, ()
    roots = [helper.top for helper in decision.lifted]
    known, missing = find_imports(analysis, roots, ["typing.Any"], taken, met)
    anything = annotations.written(Annotation(ast.Name(known["Any"], ast.Load())))
    return found | dict.fromkeys(bare, anything), missing


def _into_modules(analysis: Analysis, request: Request, decision: Decision) -> dict[Path, str]:
    """Write lifted helpers to their files; what is left imports them."""
    from codemods.plans.targets import build_targets, source_imports

    source, layout = analysis.source, request.site.layout
    package = layout.source_package
    targets = build_targets(analysis, decision, request)
    names = {helper: target.names[helper] for target in targets for helper in target.helpers}
    stated = {key: node for target in targets for key, node in target.stated.items()}
    lift = Lift(decision, names, stated, package, whole=layout.rest != layout.source)
    if decision.lifted:
        lift.program.insert(*source_imports(request.site, decision, targets))
    text = lift.text()
    files = {layout.rest: text}
    made = []
    for target in targets:
        there = target.made([lift.function(h) for h in target.helpers])
        files[target.path] = there.text
        made.append(Module(target.module, there))
    claims = lift.claims({h: target.module for target in targets for h in target.helpers})
    prove_lift(analysis.tree, claims, reread(text, source.path, source), made, package)
    if layout.rest == layout.source and text == source.text:
        del files[layout.rest]
    return files
