"""Helpers that are values keep a one-line closure of themselves."""

from __future__ import annotations

from collections.abc import Sequence

from codemods.commands.command import HelperCommand
from codemods.facts.source import Source
from codemods.plans.report import Report
from codemods.plans.run import extract_source


class SplitResidual(HelperCommand):
    """Split helpers that are used as values: a lifted function, and a closure that forwards to it."""

    DESCRIPTION = (
        "Split helpers that are used as values: a lifted function, and a closure that forwards to it."
    )

    def extract(self, source: Source, names: Sequence[str]) -> Report:
        """The report on a file."""
        return extract_source(source, self.function, names=names, residual=names)
