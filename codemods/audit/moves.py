"""Definitions of a module that a plan could move, and a plan that moves them and takes a loop out."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.audit.loop import Loop, longest_loop
from codemods.audit.report import Answer, DefinitionReport, LoopReport
from codemods.plans.moving import Mover
from codemods.plans.run import run_plan
from codemods.plans.site import Layout, Overlay, Site
from codemods.program.lifting import Analysis
from codemods.program.nodes import first_line
from codemods.program.repository import import_base
from codemods.program.source import Unusable
from codemods.program.surroundings import Surroundings
from codemods.rewrites.move.definitions import Definition, Definitions
from codemods.rewrites.refusals import Refusal
from codemods.rewrites.rules.moving import is_main_block


@dataclass(frozen=True, slots=True)
class Moves:
    """The definitions of a module, and its longest loop; the text of a plan, or why there is none."""

    definitions: tuple[DefinitionReport, ...]
    loop: LoopReport | None
    plan: str | None
    no_plan: str | None


def propose_moves(
    analysis: Analysis, around: Surroundings, seams: frozenset[str], tests: Sequence[str]
) -> Moves:
    """Find what could leave a module, all but what its last lines run; carry the plan out in memory."""
    lookup, layout = Definitions(analysis), Layout(around.root, around.path, around.path)
    names = list(dict.fromkeys(name for name in lookup.names() if not name.startswith("__")))
    found = {name: each for name in names if isinstance(each := lookup.find(name), Definition)}
    module = layout.source.stem if layout.source.stem.isidentifier() else "module"
    source, target = layout.shown(layout.source), _target(layout.source, module, "_parts")
    loop, told = _loop(analysis, layout, tests)
    stays = _entry(analysis, names) | ({loop.function} if loop else set())
    refused: dict[str, Refusal] = {}
    chosen = [name for name in names if name not in stays]
    while chosen:
        site = Site(layout, Overlay(), around)
        mover = Mover(analysis, site, dict.fromkeys(chosen, target), {}, {}, frozenset(), seams)
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

    reports = tuple(
        DefinitionReport(name, first_line(each.node), each.node.end_lineno or 0, own[name], answer(name))
        for name, each in found.items()
    )
    # Functions and classes, and constants that these read.
    constants = {name for name in chosen if isinstance(found[name].node, (ast.Assign, ast.AnnAssign))}
    wanted = {name for name in chosen if name not in constants}
    while more_constants := {read for name in wanted for read in own[name]} & constants - wanted:
        wanted |= more_constants
    moved = [name for name in chosen if name in wanted]
    wrong = "no function or class in it can move to another file"
    for parts in ((moved, loop), (moved, None), ([], loop)):
        if any(parts):
            plan = _text(source, layout, target, *parts, tests)
            if (outcome := _try(plan, layout.root)) is None:
                return Moves(reports, told, plan, None)
            wrong = outcome if isinstance(outcome, str) else f"{outcome[0]}: {outcome[1].reason}"
    return Moves(reports, told, None, wrong)


def _loop(analysis: Analysis, layout: Layout, tests: Sequence[str]) -> tuple[Loop | None, LoopReport | None]:
    """Find the longest loop, if a plan can take it out; and what is told of it."""
    loop = longest_loop(analysis)
    if loop is None:
        return None, None
    outcome = _try(_text(layout.shown(layout.source), layout, layout.source, [], loop, tests), layout.root)
    if outcome is None:
        return loop, loop.report(Answer("lifted"))
    return None, None if isinstance(outcome, str) else loop.report(Answer("refused", refusal=outcome[1]))


def _target(source: Path, stem: str, ending: str) -> Path:
    """Choose a new file beside the module."""
    base = source.parent if source.stem != "__main__" else import_base(source)
    names = (f"{stem.strip('_')}{ending}{number or ''}.py" for number in (0, *range(2, 100)))
    return next(path for name in names if not (path := base / name).exists())


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


def _text(
    source: str, layout: Layout, target: Path, names: Sequence[str], loop: Loop | None, tests: Sequence[str]
) -> str:
    """Write a plan as TOML, which reads strings as JSON writes them."""

    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    lines = ["version = 1", f"source = {quoted(source)}"]
    if loop is not None:
        lines.append(f"function = {quoted(loop.function)}")
    if names:
        lines += ["", "[[move]]", f"to = {quoted(layout.shown(target))}", "names = ["]
        lines += [*(f"    {quoted(name)}," for name in names), "]"]
    if loop is not None:
        to = layout.shown(_target(layout.source, loop.function, "_loop"))
        lines += ["", "[loop]", f"class = {quoted(loop.class_name)}", f"to = {quoted(to)}", f"at = {loop.at}"]
    if tests:
        lines += ["", "[seams]", f"tests = [{', '.join(map(quoted, tests))}]"]
    return "\n".join(lines) + "\n"


def _try(plan: str, root: Path) -> tuple[str, Refusal] | str | None:
    """Carry a plan out in memory; say why it can't be: what of it is refused, or a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.toml")
        path.write_text(plan, encoding="utf-8")
        try:
            refused = run_plan(path, root).refused
        except Unusable as error:
            return str(error).replace(f"{folder}/", "")
    found = ((row.name, row.refusal) for row in refused if row.refusal is not None)
    return next(found, None)
