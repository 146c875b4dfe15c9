"""Diff coverage as data: for verdicts, for reports, for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from pydantic import BaseModel

from golden.reach.changes import Change
from golden.reach.lines import Reached, together, union
from golden.trace.errors import UnusableInput

# The lines that a run executed of the base and of the head.
Sides = tuple[Reached, Reached]
_NO_END = "no run came to its end"


class Lines(BaseModel, extra="forbid", frozen=True):
    """Lines of one side's files.

    Attributes:
        changed: those that the other side does not have in their place and on which code stands, by file.
        ran: those of them that a run executed.
    """

    changed: dict[str, tuple[int, ...]]
    ran: dict[str, tuple[int, ...]]

    @property
    def total(self) -> int:
        """The number of changed lines that can run."""
        return sum(map(len, self.changed.values()))

    @property
    def reached(self) -> int:
        """The number of them that ran."""
        return sum(map(len, self.ran.values()))

    def missed(self) -> Iterator[tuple[str, int, int]]:
        """Yield files with the first and last line of each stretch that did not run."""
        for path, lines in sorted(self.changed.items()):
            ran = frozenset(self.ran.get(path, ()))
            for did_run, stretch in groupby(lines, ran.__contains__):
                if not did_run:
                    first, *more = stretch
                    yield path, first, more[-1] if more else first


class RunEvidence(BaseModel, extra="forbid", frozen=True):
    """One run.

    Attributes:
        name: what it is called.
        known: whether it came far enough for its lines to be known.
    """

    name: str
    known: bool


class Evidence(BaseModel, extra="forbid", frozen=True):
    """The lines of a change that runs execute.

    Attributes:
        format: of this document.
        base: the ref.
        head: the ref, or null for the working tree.
        problem: why lines are not known; empty if they are.
        runs: each run.
        before: of the base, in at least one run.
        after: of the head, in at least one run.
    """

    format: Literal[1] = 1
    base: str
    head: str | None
    problem: str
    runs: tuple[RunEvidence, ...]
    before: Lines
    after: Lines

    @property
    def sides(self) -> list[tuple[str, Lines]]:
        """Both sides, by name."""
        return [("base", self.before), ("head", self.after)]

    @property
    def total(self) -> int:
        """The number of changed lines that can run."""
        return sum(lines.total for _, lines in self.sides)

    @property
    def reached(self) -> int:
        """The number of them that ran."""
        return sum(lines.reached for _, lines in self.sides)


def evidence(change: Change, runs: Mapping[str, Sides | None]) -> Evidence:
    """Return the diff coverage of some runs by name; None for a run that came to no end."""
    known = [sides for sides in runs.values() if sides is not None]
    old, new = (together(sides[index] for sides in known) for index in (0, 1))
    return Evidence(
        base=change.base,
        head=change.head,
        problem=old.problem or new.problem or ("" if known else _NO_END),
        runs=tuple(RunEvidence(name=name, known=sides is not None) for name, sides in runs.items()),
        before=_lines(change.before, old),
        after=_lines(change.after, new),
    )


def merged(found: Sequence[Evidence]) -> Evidence:
    """Put the diff coverage of shards together. Raises `UnusableInput` if they are of several changes."""
    first = found[0]
    for each in found[1:]:
        if (each.base, each.head, each.after.changed) != (first.base, first.head, first.after.changed):
            raise UnusableInput("the shards are not of one change")
    return first.model_copy(
        update={
            "problem": next((each.problem for each in found if each.problem), ""),
            "runs": tuple(run for each in found for run in each.runs),
            "before": Lines(changed=first.before.changed, ran=_sorted(union(e.before.ran for e in found))),
            "after": Lines(changed=first.after.changed, ran=_sorted(union(e.after.ran for e in found))),
        }
    )


def _lines(changed: Mapping[str, frozenset[int]], reached: Reached) -> Lines:
    ran = {path: lines & reached.files.get(path, frozenset()) for path, lines in changed.items()}
    return Lines(changed=_sorted(changed), ran=_sorted(ran))


def _sorted(lines: Mapping[str, frozenset[int]]) -> dict[str, tuple[int, ...]]:
    return {path: tuple(sorted(found)) for path, found in sorted(lines.items()) if found}
