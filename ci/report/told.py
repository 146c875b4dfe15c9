"""The outcomes of a run of the gate, with their context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.verdicts import Outcome, Passed


@dataclass(frozen=True, slots=True)
class Told:
    """The outcomes, and what stands beside them.

    Attributes:
        outcomes: of each check, in order.
        left_out: checks that need a base, where there is none.
        compared: what was compared with what, in a line; empty without a base.
        evidence: the folder of what shows a failure, if it is kept.
        prefix: how paths begin from the top of the git repository, if the gate's root is below it.
    """

    outcomes: tuple[Outcome, ...]
    left_out: tuple[str, ...] = ()
    compared: str = ""
    evidence: Path | None = None
    prefix: str = ""

    def files(self, outcome: Outcome) -> list[str]:
        """The files that show a failure, as seen from the folder that keeps them."""
        if self.evidence is None or isinstance(outcome.verdict, Passed):
            return []
        top = self.evidence.resolve()
        return [path.relative_to(top).as_posix() for path in outcome.verdict.evidence]

    def notes(self) -> Iterator[str]:
        """Lines below the table."""
        if self.left_out:
            yield f"left out without --base: {', '.join(self.left_out)}"
        if self.compared:
            yield self.compared
        for outcome in self.outcomes:
            for file in self.files(outcome):
                yield f"{outcome.name}: see {(self.evidence or Path()) / file}"
