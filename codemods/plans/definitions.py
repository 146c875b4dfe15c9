"""The part of a plan that moves module-level functions, classes and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.decide.definitions import Definitions
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.facts.repository import module_name
from codemods.facts.seams import Seam, find_seams
from codemods.plans.chain import Loaded
from codemods.plans.model import Move, Plan, PlanError
from codemods.plans.moving import Mover, MoveRequest
from codemods.plans.report import HelperReport
from codemods.plans.site import Layout, Site


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


def find_targets(loaded: Loaded, layout: Layout) -> list[tuple[Move, Path]]:
    """The moves of a plan, each with its file.

    Raises:
        PlanError: if that is the source itself.
    """
    moves = []
    for index, move in enumerate(loaded.plan.move):
        target = layout.root / loaded.plan.root / move.to
        if target in (layout.source, layout.rest):
            raise PlanError(f"{loaded.place(move.to, index)}: {move.to} is the source itself")
        moves.append((move, target))
    return moves


def docstrings_of(moves: Sequence[tuple[Move, Path]]) -> dict[Path, str]:
    """The docstrings of files that moves make."""
    return {target: move.docstring for move, target in moves if move.docstring is not None}


def seams_of(loaded: Loaded, layout: Layout) -> tuple[list[Seam], frozenset[str]]:
    """Seams found in the plan's tests, and the names of these and those to be kept.

    Raises:
        PlanError: if a folder of tests is not there.
    """
    asked = loaded.plan.seams
    tests = [layout.root / folder for folder in asked.tests]
    for folder, given in zip(tests, asked.tests, strict=True):
        if not folder.exists():
            raise PlanError(f"{loaded.place(given)}: no such folder: {given}")
    seams = rebound_in([*tests, layout.root], layout)
    return seams, frozenset([*asked.keep, *(seam.name for seam in seams)])


def rebound_in(folders: list[Path], layout: Layout) -> list[Seam]:
    """Places in some folders where names of what is left of the source are replaced.

    A replaced attribute of one of its names (``PPOAgent.load``) is none: the object stays the same one.
    """
    found = find_seams(folders, module_name(layout.rest, layout.root), layout.root)
    return [seam for seam in found if seam.rebinds]


def move_definitions(
    loaded: Loaded, moves: Sequence[tuple[Move, Path]], analysis: Analysis, site: Site
) -> MovedRows:
    """Move what a plan names of the module's own definitions, into the overlay.

    Raises:
        PlanError: if a name is moved twice. TargetError, NotProven: if the files can't be made.
    """
    defined = set(Definitions(analysis).names()) - _helper_names(loaded.plan, analysis)
    targets: dict[str, Path] = {}
    renames: dict[str, str] = {}
    reexport: set[str] = set()
    for index, (move, target) in enumerate(moves):
        for name in (given for given in move.names if given in defined):
            if name in targets:
                raise PlanError(f"{loaded.place(name, index)}: {name} is moved twice")
            targets[name] = target
            reexport |= {name} if move.reexport else set()
            renames |= {name: move.rename[name]} if name in move.rename else {}
    if not targets:
        return MovedRows()
    _, seams = seams_of(loaded, site.layout)
    request = MoveRequest(targets, renames, docstrings_of(moves), frozenset(reexport), seams)
    mover = Mover(analysis, site, request)
    refused = mover.check()
    if not refused:
        mover.run()
    rows = []
    for name, target in targets.items():
        refusal, found = refused.get(name), mover.definitions.get(name)
        line = found.node.lineno if found else refusal.line if refusal else 1
        uses = analysis.tree.uses.get((analysis.tree.module, name), ())
        rows.append(
            HelperReport(
                name,
                name,
                analysis.source.path,
                line,
                "refused" if refusal else "moved",
                refusal,
                target=None if refused else site.layout.shown(target),
                call_sites=sum(use.call is not None for use in uses),
            )
        )
    return MovedRows(tuple(rows), frozenset(mover.exported))


def _helper_names(plan: Plan, analysis: Analysis) -> set[str]:
    """Names of the plan's function's own helpers, which come before definitions of the same name."""
    if plan.function is None:
        return set()
    chosen: list[Helper] = [h for h in analysis.helpers if h.outer.qualname == plan.function]
    return {helper.name for helper in chosen}
