"""Nested helpers become module-level functions."""

from __future__ import annotations

from collections.abc import Sequence

from codemods.commands.command import HelperCommand
from codemods.facts.source import Source
from codemods.plans.report import Report
from codemods.plans.run import extract_source


class LiftHelpers(HelperCommand):
    """Lift helpers out of functions, their captures made keyword-only parameters."""

    DESCRIPTION = "Lift helpers out of functions, their captures made keyword-only parameters."

    def extract(self, source: Source, names: Sequence[str]) -> Report:
        """The report on a file."""
        return extract_source(source, self.function, names=names)
