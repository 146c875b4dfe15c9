"""Outcomes as a terminal table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ci.report.words import word
from ci.verdicts import CouldNotRun, Failed, Outcome, Passed
from codemods.output import printable

_STYLES = {Passed: "green", Failed: "red", CouldNotRun: "yellow"}


def as_table(outcomes: Sequence[Outcome]) -> Table:
    """A row per check."""
    table = Table(box=None, pad_edge=False)
    table.add_column("check", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for outcome in outcomes:
        table.add_row(
            Text(outcome.name),
            Text(word(outcome), _STYLES[type(outcome.verdict)]),
            f"{outcome.seconds:.1f} s",
            Text(printable(outcome.verdict.detail)),
        )
    return table
