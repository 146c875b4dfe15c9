"""Verdicts of checks: a closed union of frozen values, rendered elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was found: a file relative to the root, and a line from 1 if there is one."""

    message: str
    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """The check ran and found nothing."""

    detail: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The check ran and found something: in a line, where, and the files that show it."""

    detail: str
    places: tuple[Place, ...] = ()
    evidence: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class CouldNotRun:
    """The check did not get to a verdict, which counts as a failure."""

    detail: str
    evidence: tuple[Path, ...] = ()


Verdict = Passed | Failed | CouldNotRun


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check's name, its verdict, and how long it took."""

    name: str
    verdict: Verdict
    seconds: float
