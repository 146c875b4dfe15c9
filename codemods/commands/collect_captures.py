"""Captures travel in one frozen object instead of many parameters."""

from __future__ import annotations

from codemods.commands.command import HelperCommand


class CollectCaptures(HelperCommand):
    """Lift helpers that read their captures from one frozen dataclass."""

    DESCRIPTION = "Lift helpers that read their captures from one frozen dataclass."
    rewritten = "context"
