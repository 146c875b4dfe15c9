"""Extraction plans: what is in the tree must be what a plan makes, or a plan must still make something."""

from __future__ import annotations

from pathlib import Path

from ci.checks.check import Context
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.plans import Carried, Drifted, HelperReport, PlanError, Refused, check_plan, run_afresh
from codemods.program import SourceError


def plan(context: Context, path: Path) -> Verdict:
    """Carry out a plan in memory and compare."""
    try:
        state = check_plan(path, context.root)
    except (PlanError, SourceError) as error:
        return CouldNotRun(str(error))
    match state:
        case Carried(by=later):
            by = f"{context.shown(later)} makes, which builds on this plan" if later else "the plan makes"
            return Passed(f"the tree is what {by}")
        case Drifted(files=files):
            places = tuple(Place("is not what the plan makes", file) for file in files)
            wayout = f"codemods extract --plan {context.shown(path)} --write"
            return Failed(f"not what the plan makes: {', '.join(files)}; run {wayout}", places)
        case Refused(helpers=helpers):
            return _refused(helpers)


def carried_out(context: Context, path: Path) -> Verdict:
    """Carry out in memory a plan whose files were changed by hand since."""
    try:
        report = run_afresh(path, context.root)
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
