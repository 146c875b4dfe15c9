"""The checks of the gate, one file each: every one runs a tool and says passed, failed or could not run."""

from ci.checks.check import Check, Context
from ci.checks.select import checks, needing_base

__all__ = ["Check", "Context", "checks", "needing_base"]
