"""Rewrites that come before the lift: helpers share rebound variables through an object, or leave wrappers
where they are values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from codemods.equal.code import reread
from codemods.equal.objects import prove_objects
from codemods.equal.wrapper import prove_wrappers
from codemods.plans.site import Request, Site
from codemods.program.lifting import Analysis, Helper, Lifting
from codemods.rewrites.objects.cell import Cell, find_cells, find_maker
from codemods.rewrites.objects.transform import keep_in_objects
from codemods.rewrites.refusals import Refusal, Refusals, refused_by
from codemods.rewrites.rules.assumptions import nothing_looks
from codemods.rewrites.rules.decision import FileNames
from codemods.rewrites.text.file import Program
from codemods.rewrites.wrapper import RESIDUAL_CHECKS, entry_reads, split_helpers

Rewritten = tuple[Analysis, Mapping[Helper, Helper]]
"""A rewritten file, and for each helper of the file as it was what it has become."""


def cells(
    analysis: Analysis, request: Request, chosen: Sequence[Helper]
) -> Rewritten | dict[Helper, Refusal]:
    """Keep what the chosen helpers share in objects; or tell why some can't be among them.

    Raises:
        NotProven, TextNotPreserved: if it can't be done.
    """
    # What functions capture changes all over the outer function.
    if seen := refused_by(chosen, partial(nothing_looks, analysis), request.accepted):
        return seen
    found, unfit = find_cells(analysis, chosen, request.accepted)
    return _kept(analysis, request.site, found) if found and not unfit else unfit


def _kept(analysis: Analysis, site: Site, found: Sequence[Cell]) -> Rewritten:
    """Make a file with objects in it, proven."""
    maker = find_maker(
        analysis,
        [cell.root for cell in found],
        lambda name: site.surroundings.star_imported or site.surroundings.taken(name),
    )
    made = _read(keep_in_objects(analysis, found, maker))
    prove_objects(analysis.tree, made.tree, [cell.claim for cell in found], maker)
    return made, dict(zip(analysis.helpers, made.helpers, strict=True))


def wrappers(
    analysis: Analysis, request: Request, chosen: Sequence[Helper]
) -> Rewritten | dict[Helper, Refusal]:
    """Split the chosen helpers; or tell why some can't be; raises as `cells`."""
    unfit = refused_by(chosen, lambda helper: _refusals(analysis, helper), request.accepted)
    return _split(analysis, chosen) if chosen and not unfit else unfit


def _refusals(analysis: Analysis, helper: Helper) -> Refusals:
    attempt = Lifting(analysis, {helper}, {})
    for check in RESIDUAL_CHECKS:
        yield from check(attempt, helper)


def _split(analysis: Analysis, split: Collection[Helper]) -> Rewritten:
    """Make a file with wrappers in it, proven."""
    source, chosen = analysis.source, FileNames(analysis)
    names: dict[Helper, str] = {}
    for helper in sorted(split, key=lambda h: h.node.lineno):
        names[helper] = next(name for _ in range(3) if (name := chosen.choose(helper, None)) != helper.name)
    made = _read(split_helpers(source, names))
    prove_wrappers(source, made.source, {h.place: name for h, name in names.items()})
    # A helper became the function with its body; directly below that stands the wrapper.
    blocks, bodies = made.tree.blocks, [h.node for h in made.helpers if h.name in names.values()]
    wrappers = {blocks[body][blocks[body].index(body) + 1] for body in bodies}
    left = [helper for helper in made.helpers if helper.node not in wrappers]
    now = dict(zip(analysis.helpers, left, strict=True))
    for helper in analysis.helpers:
        if helper in names or helper.entry is not None:
            now[helper].entry = entry_reads(source, helper)
    return made, now


def _read(program: Program) -> Analysis:
    """Analyse a rewritten file.

    Raises:
        NotProven: if it can't be read.
    """
    return Analysis(reread(program.text(), program.source.path, program.source))
