"""Helpers that are values keep a one-line closure of themselves."""

from __future__ import annotations

from codemods.commands.command import HelperCommand


class SplitResidual(HelperCommand):
    """Split helpers that are used as values: a lifted function, and a closure that forwards to it."""

    DESCRIPTION = (
        "Split helpers that are used as values: a lifted function, and a closure that forwards to it."
    )
    rewritten = "residual"
