"""Nested helpers become module-level functions."""

from __future__ import annotations

from codemods.commands.command import HelperCommand


class LiftHelpers(HelperCommand):
    """Lift helpers out of functions, their captures made keyword-only parameters."""

    DESCRIPTION = "Lift helpers out of functions, their captures made keyword-only parameters."
