"""Captures travel in one frozen object instead of many parameters."""

from __future__ import annotations

from collections.abc import Sequence

from codemods.commands.command import HelperCommand
from codemods.facts.source import Source
from codemods.plans.report import Report
from codemods.plans.run import extract_source


class CollectCaptures(HelperCommand):
    """Lift helpers that read their captures from one frozen dataclass."""

    DESCRIPTION = "Lift helpers that read their captures from one frozen dataclass."

    def extract(self, source: Source, names: Sequence[str]) -> Report:
        """The report on a file."""
        return extract_source(source, self.function, names=names, captures="context")
