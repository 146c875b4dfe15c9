"""Definitions of a module that a plan could move, and a plan that moves them and takes a loop out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from codemods.audit.loop import Loop, longest_loop
from codemods.audit.proposal import Writer, tried
from codemods.audit.report import Answer, DefinitionReport, LoopReport, Report
from codemods.plans.moving import Mover
from codemods.plans.site import Layout, Overlay, Site
from codemods.program.lifting import Analysis
from codemods.program.nodes import first_line
from codemods.program.surroundings import Surroundings
from codemods.rewrites.move.definitions import Definition, Definitions
from codemods.rewrites.refusals import Accepted, Refusal
from codemods.rewrites.rules.moving import is_main_block

Liftable = Callable[[str], Sequence[str]]
"""Names of a function's helpers that could be lifted to another file."""


def propose_moves(
    report: Report,
    analysis: Analysis,
    around: Surroundings,
    seams: frozenset[str],
    tests: Sequence[str],
    liftable: Liftable,
    accepted: Accepted,
) -> Report:
    """Report also what could leave a module, all but what its last lines run, and a plan for it that was
    carried out in memory.
    """
    lookup, layout = Definitions(analysis), Layout(around.root, around.path, around.path)
    names = list(dict.fromkeys(name for name in lookup.names() if not name.startswith("__")))
    found = {name: each for name in names if isinstance(each := lookup.find(name), Definition)}
    writer = Writer(layout, tests, accepted.reasons)
    loop, helpers, told = _loop(analysis, writer, liftable)
    target, stays = writer.parts, _entry(analysis, names) | ({loop.function} if loop else set())
    refused: dict[str, Refusal] = {}
    chosen = [name for name in names if name not in stays]
    while chosen:
        site = Site(layout, Overlay(), around)
        mover = Mover(analysis, site, dict.fromkeys(chosen, target), {}, {}, frozenset(), seams, accepted)
        if not (more := mover.check()):
            break
        refused |= more
        chosen = [name for name in chosen if name not in more]
    own = {
        name: tuple(
            sorted(
                read for read in {*each.reads, *each.annotated} if lookup.known.look_up(read).origin == "own"
            )
        )
        for name, each in found.items()
    }

    def answer(name: str) -> Answer:
        if name in stays:
            return Answer("kept")
        return Answer("refused", refusal=refused[name]) if name in refused else Answer("moved")

    rows = (
        DefinitionReport(name, first_line(each.node), each.node.end_lineno or 0, own[name], answer(name))
        for name, each in found.items()
    )
    report = replace(report, definitions=tuple(rows), loop=told)
    # Functions and classes, and constants that these read.
    constants = {name for name in chosen if isinstance(found[name].node, (ast.Assign, ast.AnnAssign))}
    wanted = {name for name in chosen if name not in constants}
    while more_constants := {read for name in wanted for read in own[name]} & constants - wanted:
        wanted |= more_constants
    moved = [name for name in chosen if name in wanted]
    wrong = "no function or class in it can move to another file"
    if moved:
        plan = writer.plan(moved, helpers, loop)
        if (outcome := tried(plan, layout.root)) is None:
            return replace(report, plan=plan)
        wrong = outcome if isinstance(outcome, str) else f"{outcome[0]}: {outcome[1].reason}"
    # A loop that is found was taken out alone already.
    return replace(report, plan=writer.plan((), helpers, loop)) if loop else replace(report, no_plan=wrong)


def _loop(
    analysis: Analysis, writer: Writer, liftable: Liftable
) -> tuple[Loop | None, tuple[str, ...], LoopReport | None]:
    """Find the longest loop and helpers of its function, if a plan can take them out; tell what can't be."""
    loop = longest_loop(analysis)
    if loop is None:
        return None, (), None
    outcome: tuple[str, Refusal] | str | None = None
    for helpers in dict.fromkeys((tuple(liftable(loop.function)), ())):
        outcome = tried(writer.plan((), helpers, loop), writer.layout.root)
        if outcome is None:
            return loop, helpers, loop.report(Answer("lifted"))
    if isinstance(outcome, tuple):
        return None, (), loop.report(Answer("refused", refusal=outcome[1]))
    return None, (), loop.report(Answer("refused"), outcome)


def _entry(analysis: Analysis, names: Collection[str]) -> frozenset[str]:
    """Find the function that the module is run by, which stays in it."""
    called = {
        node.func.id
        for statement in analysis.source.tree.body
        if is_main_block(statement)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    own = called.intersection(names)
    return frozenset({"main"} | (own if len(own) == 1 else set()))
