"""The mutation score as data: the JSON that `golden mutate` writes."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path

from golden.check.fixtures import write_whole
from golden.mutate.mutants import Mutant
from golden.mutate.trial import Answer

FILE = "mutants.json"
_KEYS = ("name", "path", "first", "last", "line", "scope", "operator", "before", "after", "runs")
# Of the normal distribution, for 95 %.
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mutant that was tried, and what the runs said in their order, up to the first that killed it."""

    mutant: Mutant
    answers: tuple[Answer, ...]

    @property
    def killed(self) -> bool:
        """True if a run killed it."""
        return any(answer.killed for answer in self.answers)

    @property
    def judged(self) -> bool:
        """True if it counts: a run killed it, or all of them came to their end."""
        return self.killed or all(answer.how == "survived" for answer in self.answers)

    @property
    def place(self) -> str:
        """Its file and line."""
        return f"{self.mutant.path}:{self.mutant.line}"


@dataclass(frozen=True, slots=True)
class RunTold:
    """One golden run.

    Attributes:
        name: what it is called.
        seconds: how long the unchanged program took.
        reaches: how many of all mutants are on lines that it executes.
    """

    name: str
    seconds: float
    reaches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The mutation score, and all that it was made of.

    Attributes:
        base: the git ref whose changes count; null for whole files.
        possible: how many mutants there are on lines that the runs execute.
        unreached: how many only on lines that none executes.
        idle: files of which no line runs; mutants of them are not counted.
        equivalent: how many of those drawn make the same program, or one that was drawn already.
        planned: how many were to be tried; fewer are there where time ran out.
        runs: the golden runs.
        outcomes: what was tried.
    """

    base: str | None
    possible: int
    unreached: int
    idle: tuple[str, ...]
    equivalent: int
    planned: int
    runs: tuple[RunTold, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def judged(self) -> tuple[Outcome, ...]:
        """Those that count."""
        return tuple(each for each in self.outcomes if each.judged)

    @property
    def killed(self) -> int:
        """The number of them that were killed."""
        return sum(each.killed for each in self.judged)

    @property
    def survivors(self) -> tuple[Outcome, ...]:
        """Those that were not, by file and line."""
        survived = (each for each in self.judged if not each.killed)
        return tuple(sorted(survived, key=lambda each: (each.mutant.path, each.mutant.line)))

    @property
    def share(self) -> float | None:
        """The mutation score; None if no mutant counts."""
        return self.killed / len(self.judged) if self.judged else None

    @property
    def everything(self) -> bool:
        """True if all that is possible was tried."""
        return self.possible == self.equivalent + len(self.judged)


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return between which scores that of all mutants lies, at 95 % (E. B. Wilson, JASA 22, 1927)."""
    share, square = killed / tried, _Z * _Z
    middle = (share + square / (2 * tried)) / (1 + square / tried)
    half = _Z / (1 + square / tried) * math.sqrt(share * (1 - share) / tried + square / (4 * tried * tried))
    return max(0.0, middle - half), min(1.0, middle + half)


def write(path: Path, score: Score) -> None:
    """Write a result, whole or not at all."""
    table = dataclasses.asdict(dataclasses.replace(score, outcomes=()))
    del table["outcomes"]
    planted = [
        {key: getattr(each.mutant, key) for key in _KEYS}
        | {"answers": [answer.model_dump() for answer in each.answers]}
        for each in score.outcomes
    ]
    write_whole(path, json.dumps({"format": 1, **table, "planted": planted}, indent=1) + "\n")
