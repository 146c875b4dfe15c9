"""Definitions of a module that a plan could move, and a plan that moves them."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.audit.report import DefinitionKind, DefinitionReport, Movable, Refused
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
    """The definitions of a module; the text of a plan, or why there is none."""

    definitions: tuple[DefinitionReport, ...]
    plan: str | None
    no_plan: str | None


def propose_moves(
    analysis: Analysis, around: Surroundings, seams: frozenset[str], tests: Sequence[str], *, tried: bool
) -> Moves:
    """Find what could leave a module, all but what its last lines run; a plan that is ``tried`` was
    carried out in memory on the project as it is.
    """
    lookup = Definitions(analysis)
    names = list(dict.fromkeys(name for name in lookup.names() if not name.startswith("__")))
    target = _target(around)
    layout = Layout(around.root, around.path, around.path)
    site = Site(layout, Overlay(), around)
    stays = _entry(analysis)
    refused: dict[str, Refusal] = {}
    chosen = dict.fromkeys(name for name in names if name not in stays)
    while chosen:
        mover = Mover(analysis, site, dict.fromkeys(chosen, target), {}, {}, frozenset(), seams)
        more = mover.check()
        refused |= more
        if not more:
            break
        chosen = dict.fromkeys(name for name in chosen if name not in more)
    found = {name: each for name in names if isinstance(each := lookup.find(name), Definition)}
    own = {name: _own(analysis, each, lookup) for name, each in found.items()}
    moved = _wanted(found, own, chosen)
    reports = tuple(
        _report(each, own[name], None if name in stays else refused.get(name, Movable()))
        for name, each in found.items()
    )
    if not moved:
        return Moves(reports, None, "no function or class in it can move to another file")
    plan = _text(layout.shown(around.path), layout.shown(target), moved, tests)
    wrong = _try(plan, around.root) if tried else None
    return Moves(reports, None if wrong else plan, wrong)


def _target(around: Surroundings) -> Path:
    """A new file beside the module."""
    stem = around.path.stem if around.path.stem.isidentifier() else "module"
    base = around.path.parent if around.path.stem != "__main__" else import_base(around.path)
    endings = ("_parts", *(f"_parts{number}" for number in range(2, 100)))
    paths = (base / f"{stem.strip('_')}{ending}.py" for ending in endings)
    return next(path for path in paths if not path.exists())


def _entry(analysis: Analysis) -> frozenset[str]:
    """The function that the module is run by, which stays in it."""
    called = {
        node.func.id
        for statement in analysis.source.tree.body
        if is_main_block(statement)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    own = called.intersection(Definitions(analysis).names())
    return frozenset({"main"} | (own if len(own) == 1 else set()))


def _own(analysis: Analysis, definition: Definition, lookup: Definitions) -> tuple[str, ...]:
    """Names of the module that a definition reads, annotations included."""
    read = {*definition.reads, *definition.annotated}
    return tuple(sorted(name for name in read if lookup.known.look_up(name).origin == "own"))


def _wanted(
    found: dict[str, Definition], own: dict[str, tuple[str, ...]], chosen: Collection[str]
) -> list[str]:
    """Of what can move the functions and classes, and the constants that these read."""
    constants = {name for name in chosen if isinstance(found[name].node, (ast.Assign, ast.AnnAssign))}
    wanted = [name for name in chosen if name not in constants]
    for name in wanted:
        wanted += [each for each in own[name] if each in constants and each not in wanted]
    return [name for name in chosen if name in wanted]


def _report(
    definition: Definition, own: tuple[str, ...], found: Refusal | Movable | None
) -> DefinitionReport:
    node = definition.node
    kind: DefinitionKind = "function"
    if isinstance(node, ast.ClassDef):
        kind = "class"
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        kind = "constant"
    moved = (
        Refused(found.code, found.line, found.reason, found.way_out) if isinstance(found, Refusal) else found
    )
    return DefinitionReport(definition.name, kind, first_line(node), node.end_lineno or 0, own, moved)


def _text(source: str, target: str, names: Iterable[str], tests: Sequence[str]) -> str:
    """A plan as TOML, which reads strings as JSON writes them."""
    lines = [
        "version = 1",
        f"source = {_quoted(source)}",
        "",
        "[[move]]",
        f"to = {_quoted(target)}",
        "names = [",
    ]
    lines += [*(f"    {_quoted(name)}," for name in names), "]"]
    if tests:
        lines += ["", "[seams]", f"tests = [{', '.join(map(_quoted, tests))}]"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _try(plan: str, root: Path) -> str | None:
    """Carry a plan out in memory; why it can't be, in a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.toml")
        path.write_text(plan, encoding="utf-8")
        try:
            refused = run_plan(path, root).refused
        except Unusable as error:
            return str(error).replace(f"{folder}/", "")
    return None if not refused else f"{refused[0].name}: {refused[0].refusal and refused[0].refusal.reason}"
