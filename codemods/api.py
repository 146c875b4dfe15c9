"""Names that the gate uses, and no others; `docs/reference/python.md` has those for other programs."""

from codemods.plans.model import Accept, Loop, Move, Plan, PlanError, Seams, load_plan
from codemods.plans.report import HelperReport, Report
from codemods.plans.run import run_plan
from codemods.plans.single import RequestError
from codemods.plans.write import WriteError, write_all
from codemods.program.imports import absolute
from codemods.program.patches import SeamReaders, reads_own, seams_of
from codemods.program.repository import (
    mentioning,
    module_name,
    package_of,
    python_files,
    read_tools,
    shown_path,
)
from codemods.program.source import SourceError, read_source
from codemods.rewrites.refusals import all_rules
from codemods.rewrites.text.append import TargetError
