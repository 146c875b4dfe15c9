"""Exit codes, and the errors that end a command with one of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status of every command."""

    IDENTICAL = 0
    DIFFERENT = 1
    UNUSABLE = 2
    RUN_FAILED = 3
    NOTHING_COMPARABLE = 4


class GoldenError(Exception):
    """A command can't go on; the message is one line for the user."""

    code = ExitCode.UNUSABLE


class UnusableInput(GoldenError):
    """A run, key, file, folder or git ref that can't be used as it stands."""


class RunFailed(GoldenError):
    """The program under test crashed, was killed or ran out of time."""

    code = ExitCode.RUN_FAILED


class NothingComparable(GoldenError):
    """There is nothing whose equality could be judged."""

    code = ExitCode.NOTHING_COMPARABLE


def worst(codes: Sequence[int]) -> int:
    """Return the exit status of several comparisons: that of the worst one."""
    for code in (ExitCode.UNUSABLE, ExitCode.RUN_FAILED, ExitCode.DIFFERENT, ExitCode.NOTHING_COMPARABLE):
        if code in codes:
            return code
    return ExitCode.IDENTICAL
