"""Whether a tree is what a plan makes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codemods.plans.chain import last_plans
from codemods.plans.report import HelperReport, Report
from codemods.plans.run import run_plan


@dataclass(frozen=True, slots=True)
class Carried:
    """The tree is what the plan makes, or what a later plan that builds on it makes: ``by``."""

    by: Path | None = None


@dataclass(frozen=True, slots=True)
class Drifted:
    """Files that the plan would make otherwise."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Helpers that can't be lifted as the plan says."""

    helpers: tuple[HelperReport, ...]


PlanState = Carried | Drifted | Refused


def check_plan(path: Path, root: Path | None) -> PlanState:
    """Carry out a plan in memory and compare with the tree.

    Raises:
        PlanError, SourceError: if a plan or its source can't be used.
    """
    return judge_plan(run_plan(path, root), path, root)


def judge_plan(report: Report, path: Path, root: Path | None) -> PlanState:
    """What the outcome of a plan says about the tree."""
    if report.refused:
        return Refused(report.refused)
    changed = tuple(change.shown for change in report.files if change.changed)
    if not changed:
        return Carried()
    for later in last_plans(path):
        outcome = run_plan(later, root)
        if not outcome.refused and not any(change.changed for change in outcome.files):
            return Carried(later)
    return Drifted(changed)
