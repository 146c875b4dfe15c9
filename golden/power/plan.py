"""A plan: which mutants are tried, by which runs, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from golden.check.ab import Notify
from golden.power.candidates import Candidates, candidates, real
from golden.power.mistakes import Mistake
from golden.power.reference import Reference, references
from golden.power.trees import Trees
from golden.record import Run
from golden.trace.errors import NothingComparable


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to the runs.

    Attributes:
        runs: the golden runs.
        paths: files and folders, relative to the tree; none for all of it.
        base: a git ref: only statements that the working tree changed since.
        most: how many at most.
        minutes: for how long mistakes are begun; None for no limit.
        workers: how many programs run at a time; None for one per core.
    """

    runs: Sequence[Run]
    paths: Sequence[str] = ()
    base: str | None = None
    most: int | None = None
    minutes: float | None = 10.0
    workers: int | None = None


class NothingChanged(NothingComparable):
    """A change has no statement in which a mistake can be planted, whether it runs or not."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done: the mistakes in order, how many make no other program, how long it should take."""

    asked: Request
    workers: int
    references: Mapping[str, Reference]
    candidates: Candidates
    drawn: tuple[Mistake, ...]
    equivalent: int
    seconds: float


def make_plan(
    asked: Request,
    files: Sequence[str],
    touched: Mapping[str, frozenset[int]] | None,
    trees: Trees,
    *,
    out: Path,
    notify: Notify,
) -> Plan:
    """Run the unchanged program, and draw from the mistakes in some files.

    ``touched`` has the lines of which a statement must have one, by file; None for all. Raises `GoldenError`.
    """
    workers = len(trees.all)
    found = references(asked.runs, trees, files, out=out, workers=workers, notify=notify)
    root = trees.all[0].root
    possible = candidates(root, files, found, touched)
    if not possible.found:
        if touched is not None and not possible.unreached:
            raise NothingChanged(f"nothing that changed since {asked.base} can hold a mistake")
        where = "changed lines of Python" if touched is not None else "lines"
        raise NothingComparable(
            f"no mistake can be planted in {where} that these runs execute "
            f"({possible.unreached} on lines that none executes)"
        )
    by_name = {each.run.name: each for each in found}
    drawn = _draw(asked, workers, root, possible.found, by_name)
    return Plan(asked, workers, by_name, possible, *drawn)


def _draw(
    asked: Request, workers: int, root: Path, found: Sequence[Mistake], by_name: Mapping[str, Reference]
) -> tuple[tuple[Mistake, ...], int, float]:
    """As many real ones as there is time for, if each is noticed by the shortest of its runs."""
    drawn: list[Mistake] = []
    equivalent, seconds = 0, 0.0
    limit = None if asked.minutes is None else asked.minutes * 60 * workers
    for mistake, another in real(root, found):
        if not another:
            equivalent += 1
            continue
        cost = min(by_name[name].seconds for name in mistake.runs)
        enough = asked.most is not None and len(drawn) >= asked.most
        if enough or (limit is not None and drawn and seconds + cost > limit):
            break
        drawn.append(mistake)
        seconds += cost
    return tuple(drawn), equivalent, seconds / workers
