"""The mutation score as data: the JSON that `golden mutate` writes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from golden.check.fixtures import write_whole
from golden.mutate.mutants import Mutant
from golden.mutate.plan import Plan
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
class Score:
    """The mutation score: a plan, and what came of it; fewer were tried than planned where time ran out."""

    plan: Plan
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
        return len(self.plan.possible) == self.plan.equivalent + len(self.judged)


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return between which scores that of all mutants lies, at 95 % (E. B. Wilson, JASA 22, 1927)."""
    share, square = killed / tried, _Z * _Z
    middle = (share + square / (2 * tried)) / (1 + square / tried)
    half = _Z / (1 + square / tried) * math.sqrt(share * (1 - share) / tried + square / (4 * tried * tried))
    return max(0.0, middle - half), min(1.0, middle + half)


def write(path: Path, score: Score) -> None:
    """Write a result, whole or not at all."""
    plan = score.plan
    table = {
        "format": 1,
        "base": plan.base,
        "possible": len(plan.possible),
        "unreached": plan.unreached,
        "idle": plan.idle,
        "equivalent": plan.equivalent,
        "planned": len(plan.drawn),
        "runs": [
            {"name": name, "seconds": round(each.seconds, 1), "reaches": plan.reached_by(name)}
            for name, each in plan.originals.items()
        ],
        "planted": [
            {key: getattr(each.mutant, key) for key in _KEYS}
            | {"answers": [answer.model_dump() for answer in each.answers]}
            for each in score.outcomes
        ],
    }
    write_whole(path, json.dumps(table, indent=1) + "\n")
