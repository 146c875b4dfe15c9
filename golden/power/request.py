"""What is asked for, and what of a tree that comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from golden.record import Run
from golden.trace.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked for.

    Attributes:
        runs: the golden runs.
        paths: files and folders, relative to the tree; none for all of it.
        base: a git ref: only statements that the working tree changed since.
        shard: which part of all mistakes, of how many.
        most: how many at most.
        minutes: for how long mistakes are begun; None for no limit.
        workers: how many programs run at a time; None for one per core.
        data: the folder for runs that take one.
        kept: a folder for results, from which the same request goes on.
        recorded: traces of the unchanged program that are there already, by run, with the lines that ran of
            all files where mistakes may be planted.
    """

    runs: Sequence[Run]
    paths: Sequence[str] = ()
    base: str | None = None
    shard: tuple[int, int] = (1, 1)
    most: int | None = None
    minutes: float | None = 10.0
    workers: int | None = None
    data: Path | None = None
    kept: Path | None = None
    recorded: Mapping[str, Trace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for, of one tree.

    Attributes:
        asked: as it was asked.
        files: where mistakes are planted.
        touched: only in statements with one of these lines, by file; None for all.
        workers: how many programs run at a time.
    """

    asked: Request
    files: Sequence[str]
    touched: Mapping[str, frozenset[int]] | None
    workers: int
