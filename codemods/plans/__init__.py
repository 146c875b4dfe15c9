"""What goes where: plans as files, carrying them out, checking that the tree is what they make."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemods.plans.check import Carried as Carried
    from codemods.plans.check import Drifted as Drifted
    from codemods.plans.check import Refused as Refused
    from codemods.plans.check import check_plan as check_plan
    from codemods.plans.derive import derive_tree as derive_tree
    from codemods.plans.derive import run_afresh as run_afresh
    from codemods.plans.model import Loop as Loop
    from codemods.plans.model import Move as Move
    from codemods.plans.model import Plan as Plan
    from codemods.plans.model import PlanError as PlanError
    from codemods.plans.model import Seams as Seams
    from codemods.plans.model import load_plan as load_plan
    from codemods.plans.report import HelperReport as HelperReport
    from codemods.plans.run import RequestError as RequestError
    from codemods.plans.run import TargetError as TargetError
    from codemods.plans.write import WriteError as WriteError
    from codemods.plans.write import write_all as write_all

_HOMES = {
    "Carried": "check",
    "Drifted": "check",
    "Refused": "check",
    "check_plan": "check",
    "derive_tree": "derive",
    "run_afresh": "derive",
    "Loop": "model",
    "Move": "model",
    "Plan": "model",
    "PlanError": "model",
    "Seams": "model",
    "load_plan": "model",
    "HelperReport": "report",
    "RequestError": "run",
    "TargetError": "run",
    "WriteError": "write",
    "write_all": "write",
}


def __getattr__(name: str) -> object:
    """A public name, its module loaded when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
