"""A plan: which mutants are tried, by which runs, in which order."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import xxhash

from golden.mutate.mutants import Mutant, mutants
from golden.mutate.original import Original
from golden.record import Run
from golden.trace.errors import NothingComparable


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question to the runs.

    Attributes:
        runs: the golden runs.
        paths: files and folders, relative to the tree; none for all of it.
        base: a git ref: only statements that the working tree changed since.
        most: how many mutants at most.
        minutes: for how long mutants are begun; None for no limit.
        workers: how many programs run at a time; None for one per core.
    """

    runs: Sequence[Run]
    paths: Sequence[str] = ()
    base: str | None = None
    most: int | None = None
    minutes: float | None = 10.0
    workers: int | None = None


class NothingChanged(NothingComparable):
    """A change has no statement that can be mutated, whether it runs or not."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The mutants that are tried, in order.

    ``possible`` are all on lines that the runs execute, in the order of the draw; ``drawn`` are those of them
    that are tried while there is time. ``unreached`` counts those on lines that no run executes.
    """

    originals: Mapping[str, Original]
    possible: Sequence[Mutant]
    drawn: Sequence[Mutant]
    unreached: int


def make_plan(
    asked: Request,
    root: Path,
    files: Sequence[str],
    touched: Mapping[str, frozenset[int]] | None,
    originals: Sequence[Original],
) -> Plan:
    """Draw from the mutants of some files, those that are on lines which the originals executed.

    ``touched`` has the lines of which a statement must have one, by file; None for all. Raises
    `NothingComparable` where there is no mutant.
    """
    by_name = {each.run.name: each for each in originals}
    found: list[Mutant] = []
    unreached = 0
    for path in files:
        ran = {name: each.reached.files.get(path, frozenset()) for name, each in by_name.items()}
        for mutant in mutants(path, (root / path).read_bytes()):
            own = range(mutant.first, mutant.last + 1)
            if touched is not None and touched.get(path, frozenset()).isdisjoint(own):
                continue
            runs = tuple(name for name, lines in ran.items() if mutant.needs & lines)
            if not runs:
                unreached += 1
            else:
                found.append(replace(mutant, runs=runs))
    if not found:
        if touched is not None and not unreached:
            raise NothingChanged(f"nothing that changed since {asked.base} can be mutated")
        where = "changed lines of Python" if touched is not None else "lines"
        raise NothingComparable(
            f"no mutant can be made of {where} that these runs execute "
            f"({unreached} on lines that none executes)"
        )
    # An order that chance decides, and that is the same every time.
    found.sort(key=lambda each: xxhash.xxh3_64_hexdigest(f"draw {each.name}".encode()))
    return Plan(by_name, found, found[: asked.most], unreached)


def same_program(left: types.CodeType | None, right: types.CodeType | None) -> bool:
    """Tell whether two files have the same instructions and constants, wherever their lines are."""
    return left is not None and right is not None and _without_places(left) == _without_places(right)


def _without_places(code: types.CodeType) -> types.CodeType:
    constants = tuple(_without_places(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_linetable=b"", co_firstlineno=1)
