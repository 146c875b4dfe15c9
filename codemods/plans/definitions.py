"""The part of a plan that moves module-level functions, classes and constants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codemods.decide.definitions import Definitions
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.facts.repository import module_name
from codemods.facts.seams import Seam, find_seams
from codemods.facts.surroundings import Surroundings
from codemods.plans.model import Move, Plan, PlanError, line_of
from codemods.plans.modules import Layout
from codemods.plans.moving import Mover, MoveRequest
from codemods.plans.overlay import Overlay
from codemods.plans.report import HelperReport


@dataclass(frozen=True, slots=True)
class MovedRows:
    """Report rows of the definitions that a plan names; names of which only other files need the import."""

    rows: tuple[HelperReport, ...] = ()
    exported: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The definitions' names."""
        return frozenset(row.name for row in self.rows)

    @property
    def refused(self) -> bool:
        """Whether any can't be moved."""
        return any(row.refusal is not None for row in self.rows)


def expanded(move: Move, helpers: list[str]) -> list[str]:
    """The names of a move, with ``*`` replaced by all helpers that are not excepted."""
    found: list[str] = []
    for name in move.names:
        found.extend([h for h in helpers if h not in move.except_] if name == "*" else [name])
    return found


def seams_of(plan: Plan, shown: str, text: str, layout: Layout) -> tuple[list[Seam], frozenset[str]]:
    """Seams found in the plan's tests, and the names of these and those to be kept.

    Raises:
        PlanError: if a folder of tests is not there.
    """
    tests = [layout.root / folder for folder in plan.seams.tests]
    for folder, given in zip(tests, plan.seams.tests, strict=True):
        if not folder.exists():
            raise PlanError(f"{shown}:{line_of(text, given)}: no such folder: {given}")
    seams = rebound_in([*tests, layout.root], layout)
    return seams, frozenset([*plan.seams.keep, *(seam.name for seam in seams)])


def rebound_in(folders: list[Path], layout: Layout) -> list[Seam]:
    """Places in some folders where names of what is left of the source are replaced.

    A replaced attribute of one of its names (``PPOAgent.load``) is none: the object stays the same one.
    """
    found = find_seams(folders, module_name(layout.rest, layout.root), layout.root)
    return [seam for seam in found if seam.rebinds]


def move_definitions(
    plan: Plan,
    shown: str,
    text: str,
    analysis: Analysis,
    layout: Layout,
    overlay: Overlay,
    surroundings: Surroundings,
) -> MovedRows:
    """Move what a plan names of the module's own definitions, into the overlay.

    Raises:
        PlanError: if a name is moved twice. Clash, NotProven: if the files can't be made.
    """
    defined = set(Definitions(analysis).names()) - _helper_names(plan, analysis)
    targets: dict[str, Path] = {}
    renames: dict[str, str] = {}
    docstrings: dict[Path, str] = {}
    reexport: set[str] = set()
    for index, move in enumerate(plan.move):
        target = layout.root / plan.root / move.to
        if move.docstring is not None:
            docstrings[target] = move.docstring
        for name in move.names:
            if name in defined and name in targets:
                raise PlanError(f"{shown}:{line_of(text, name, index)}: {name} is moved twice")
            if name in defined:
                if target in (layout.source, layout.rest):
                    raise PlanError(
                        f"{shown}:{line_of(text, move.to, index)}: {move.to} is the source itself"
                    )
                targets[name] = target
                reexport |= {name} if move.reexport else set()
                renames |= {name: move.rename[name]} if name in move.rename else {}
    if not targets:
        return MovedRows()
    _, seams = seams_of(plan, shown, text, layout)
    request = MoveRequest(targets, renames, docstrings, frozenset(reexport), seams)
    mover = Mover(analysis, layout, overlay, request, surroundings)
    refused = mover.check()
    if not refused:
        mover.run()
    rows = []
    for name, target in targets.items():
        refusal = refused.get(name)
        found = mover.definitions.get(name)
        rows.append(
            HelperReport(
                name=name,
                qualname=name,
                path=analysis.source.path,
                line=found.node.lineno if found else refusal.line if refusal else 1,
                status="refused" if refusal else "moved",
                refusal=refusal,
                captures=(),
                target=None if refused else layout.shown(target),
                call_sites=sum(
                    u.call is not None for u in analysis.tree.uses.get((analysis.tree.module, name), [])
                ),
            )
        )
    return MovedRows(tuple(rows), frozenset(mover.exported))


def _helper_names(plan: Plan, analysis: Analysis) -> set[str]:
    """Names of the plan's function's own helpers, which come before definitions of the same name."""
    if plan.function is None:
        return set()
    chosen: list[Helper] = [h for h in analysis.helpers if h.outer.qualname == plan.function]
    return {helper.name for helper in chosen}
