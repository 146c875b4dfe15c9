"""Extraction plans: what is in the tree must be what a plan makes."""

from __future__ import annotations

from pathlib import Path

from ci.checks.check import Context
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.plans.check import Carried, Drifted, Refused, check_plan
from codemods.plans.run import PlanError, SourceError


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
            places = tuple(
                Place(
                    f"{helper.name} is refused: {helper.refusal.reason if helper.refusal else ''}",
                    helper.path,
                    helper.line,
                )
                for helper in helpers
            )
            return Failed(f"refused: {', '.join(helper.name for helper in helpers)}", places)
