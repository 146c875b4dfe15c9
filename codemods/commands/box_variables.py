"""Variables that helpers rebind become attributes of one object."""

from __future__ import annotations

from collections.abc import Sequence

from codemods.commands.command import HelperCommand
from codemods.facts.source import Source
from codemods.plans.report import Report
from codemods.plans.run import extract_source


class BoxVariables(HelperCommand):
    """Keep variables that helpers share and rebind in an object, and lift the helpers."""

    DESCRIPTION = "Keep variables that helpers share and rebind in an object, and lift the helpers."

    def extract(self, source: Source, names: Sequence[str]) -> Report:
        """The report on a file."""
        return extract_source(source, self.function, names=names, box=names)
