"""Plans: which code goes to which file.

Question: what do a plan, or one lift, make of a project, and is a tree what a plan makes?
Imports program, values, rewrites and equal; no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemods import public

if TYPE_CHECKING:
    from codemods.plans.derive import derive_tree as derive_tree
    from codemods.plans.model import Accept as Accept
    from codemods.plans.model import Loop as Loop
    from codemods.plans.model import Move as Move
    from codemods.plans.model import Plan as Plan
    from codemods.plans.model import PlanError as PlanError
    from codemods.plans.model import Seams as Seams
    from codemods.plans.model import load_plan as load_plan
    from codemods.plans.report import HelperReport as HelperReport
    from codemods.plans.run import run_plan as run_plan
    from codemods.plans.single import RequestError as RequestError
    from codemods.plans.write import WriteError as WriteError
    from codemods.plans.write import write_all as write_all
    from codemods.rewrites.refusals import all_rules as all_rules
    from codemods.rewrites.text.append import TargetError as TargetError

__getattr__ = public(
    __name__,
    derive="derive_tree",
    model="Accept Loop Move Plan PlanError Seams load_plan",
    report="HelperReport",
    run="run_plan",
    single="RequestError all_rules",
    targets="TargetError",
    write="WriteError write_all",
)
