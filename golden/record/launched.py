"""What torchrun says when a rank fails: which one it was, and what that one printed."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

_REPORT = re.compile(r"^(?:[\w.]+\.)?ChildFailedError:\s*$")
BEGINS = "Traceback (most recent call last):"
"""The first line of what Python prints of an exception."""

_OWN_LOG = re.compile(r"^[DIWEC]\d{4} [\d:.]+ \d+ \S*torch/distributed/")
_RANK = re.compile(r"^\s*rank\s*:\s*(\d+)\b")
_STATUS = re.compile(r"^\s*exitcode\s*:\s*(-?\d+)\b[^(]*\(pid: \d+\)\s*(?:\((\w+)\))?")
_OF_RANK = re.compile(r"^\[rank(\d+)\]: ?(.*)$")


@dataclass(frozen=True, slots=True)
class FailedRank:
    """The rank that torchrun saw fail first: how it ended, and the lines that may be its own."""

    rank: int
    ended: str
    lines: tuple[str, ...]


def first_failed(printed: list[str]) -> FailedRank | None:
    """The rank that failed first, by the report that torchrun ends with; None where there is no such report.

    An exception that ends a rank is printed with the rank before each line. Where there is none, the lines
    are those that no rank is named before: any of them may have printed those.
    """
    reports = [index for index, line in enumerate(printed) if _REPORT.match(line)]
    if not reports:
        return None
    report = printed[reports[-1] :]
    causes = [index for index, line in enumerate(report) if line.startswith("Root Cause")]
    cause = report[causes[-1] :] if causes else report
    rank = next((int(found[1]) for line in cause if (found := _RANK.match(line))), None)
    status = next((found for line in cause if (found := _STATUS.match(line))), None)
    if rank is None or status is None:
        return None
    return FailedRank(rank, status[2] or _ended(int(status[1])), _said_by(rank, printed[: reports[-1]]))


def _ended(status: int) -> str:
    # torchrun names only some of the signals, older ones none.
    if -status in set(signal.Signals):
        return signal.Signals(-status).name
    return f"exit status {status}"


def _said_by(rank: int, printed: list[str]) -> tuple[str, ...]:
    begins = [index for index, line in enumerate(printed) if line == BEGINS]
    ranks = [line for line in printed[: begins[-1] if begins else None] if not _OWN_LOG.match(line)]
    named = [found for line in ranks if (found := _OF_RANK.match(line))]
    own = tuple(found[2] for found in named if int(found[1]) == rank)
    return own or tuple(line for line in ranks if not _OF_RANK.match(line))
