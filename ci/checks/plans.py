"""Extraction plans: what is in the tree must be what a plan makes, or a plan must still make something."""

from __future__ import annotations

from pathlib import Path

from ci.checks.check import Context
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.api import HelperReport, PlanError, SourceError, run_plan


def plan(context: Context, path: Path) -> Verdict:
    """Carry out a plan in memory and compare."""
    try:
        report = run_plan(path, context.root)
    except (PlanError, SourceError) as error:
        return CouldNotRun(str(error))
    if report.refused:
        return _refused(report.refused)
    files = [change.shown for change in report.files if change.changed]
    if not files:
        return Passed("the tree is what the plan makes")
    places = tuple(Place("is not what the plan makes", file) for file in files)
    wayout = f"codemods extract --plan {context.shown(path)} --write"
    return Failed(f"not what the plan makes: {', '.join(files)}; run {wayout}", places)


def carried_out(context: Context, path: Path) -> Verdict:
    """Carry out in memory a plan whose files were changed by hand since."""
    try:
        report = run_plan(path, context.root, afresh=True)
    except (PlanError, SourceError) as error:
        return CouldNotRun(str(error))
    if report.refused:
        return _refused(report.refused)
    return Passed(f"can be carried out; {len(report.files)} files, not compared with the tree")


def _refused(helpers: tuple[HelperReport, ...]) -> Failed:
    places = tuple(
        Place(
            f"{helper.name} is refused: {helper.refusal.reason if helper.refusal else ''}",
            helper.path,
            helper.line,
        )
        for helper in helpers
    )
    return Failed(f"refused: {', '.join(helper.name for helper in helpers)}", places)
