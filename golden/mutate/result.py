"""The mutation score: mutants that were tried, and what the runs said."""

from __future__ import annotations

from dataclasses import dataclass

from golden.mutate.mutants import Mutant
from golden.mutate.plan import Plan
from golden.mutate.trial import Answer


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
    """The mutation score: a plan, and what came of it; fewer were tried than planned where time ran out.

    ``equivalent`` counts those that are the same program, whose turn came and which were left out.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    equivalent: int = 0

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
