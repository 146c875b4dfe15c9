"""What came of planting mistakes, as data: the JSON that `golden mutate` writes."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from golden.check.fixtures import write_whole
from golden.power.mistakes import Mistake
from golden.power.trial import Answer

FILE = "mutants.json"
# Of the normal distribution, for 95 %.
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Planted:
    """One mistake, and what the runs said in their order, up to the first that noticed."""

    mistake: Mistake
    answers: tuple[Answer, ...]

    @property
    def noticed(self) -> bool:
        """Whether a run did."""
        return any(answer.noticed for answer in self.answers)

    @property
    def judged(self) -> bool:
        """Whether it is known: a run noticed, or all of them came to their end."""
        return self.noticed or all(answer.how == "survived" for answer in self.answers)

    def as_table(self) -> dict[str, object]:
        """It as JSON: where it was, what it was, what the runs said."""
        names = ("name", "path", "first", "last", "line", "scope", "operator", "before", "after", "runs")
        answers = [answer.model_dump() for answer in self.answers]
        return {**{name: getattr(self.mistake, name) for name in names}, "answers": answers}


@dataclass(frozen=True, slots=True)
class RunTold:
    """One golden run.

    Attributes:
        name: what it is called.
        seconds: how long the unchanged program took.
        reaches: how many of all mistakes stand on lines that it executes.
    """

    name: str
    seconds: float
    reaches: int


@dataclass(frozen=True, slots=True)
class ToldBy:
    """How many mistakes a run was asked about, how many it noticed, and in words how many in which way."""

    asked: int
    noticed: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What the runs notice of the mistakes that were planted.

    Attributes:
        base: the git ref whose changes count; null for whole files.
        possible: how many mistakes can be planted on lines that the runs execute.
        unreached: how many only on lines that none executes.
        idle: files of which no line runs; what could be planted in them is not counted.
        equivalent: how many of those drawn make the same program, or one that was drawn already.
        planned: how many were to be tried; fewer are there where time ran out.
        runs: the golden runs.
        planted: what was tried.
    """

    base: str | None
    possible: int
    unreached: int
    idle: tuple[str, ...]
    equivalent: int
    planned: int
    runs: tuple[RunTold, ...]
    planted: tuple[Planted, ...]

    @property
    def judged(self) -> tuple[Planted, ...]:
        """Those that count."""
        return tuple(each for each in self.planted if each.judged)

    @property
    def noticed(self) -> int:
        """How many of them were noticed."""
        return sum(each.noticed for each in self.judged)

    @property
    def missed(self) -> tuple[Planted, ...]:
        """Those that were not, by file and line."""
        missed = (each for each in self.judged if not each.noticed)
        return tuple(sorted(missed, key=lambda each: (each.mistake.path, each.mistake.line)))

    def told_by(self, run: str) -> ToldBy:
        """What a run said to those that count and that it was asked about."""
        answers = [each for planted in self.judged for each in planted.answers if each.run == run]
        ways = Counter(each.how for each in answers if each.noticed)
        how = ", ".join(f"{count} {name}" for name, count in sorted(ways.items()))
        return ToldBy(len(answers), ways.total(), how)

    @property
    def share(self) -> float | None:
        """What part of them; None of none."""
        return self.noticed / len(self.judged) if self.judged else None

    @property
    def everything(self) -> bool:
        """Whether all that is possible was tried."""
        return self.possible == self.equivalent + len(self.judged)


def interval(noticed: int, tried: int) -> tuple[float, float]:
    """Between which shares the one of all lies, at 95 % (E. B. Wilson, JASA 22, 1927)."""
    share, square = noticed / tried, _Z * _Z
    middle = (share + square / (2 * tried)) / (1 + square / tried)
    half = _Z / (1 + square / tried) * math.sqrt(share * (1 - share) / tried + square / (4 * tried * tried))
    return max(0.0, middle - half), min(1.0, middle + half)


def write(path: Path, power: Power) -> None:
    """Write a result, whole or not at all."""
    table = dataclasses.asdict(dataclasses.replace(power, planted=()))
    table = {"format": 1, **table, "planted": [planted.as_table() for planted in power.planted]}
    write_whole(path, json.dumps(table, indent=1) + "\n")
