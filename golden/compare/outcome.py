"""Outcomes of a comparison: a closed union of frozen values, rendered elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from golden.compare.divergence import Divergence
from golden.trace.errors import ExitCode
from golden.trace.tolerance import Tolerance


@dataclass(frozen=True, slots=True)
class Compared:
    """The amounts that were compared, pair by pair; ``left_out`` counts final states that could not be.

    ``outputs`` counts lines and fields of what was printed and written, ``living`` states of modules and of
    the program's own generators; ``uncompared`` names what was not.
    ``unstable`` are places that differ between two runs of the base, ``unwatched`` files that the program
    wrote where nothing looks, with what to do about it, ``masked`` what reads like a time, a rate or an id.
    """

    events: int = 0
    steps: int = 0
    tensors: int = 0
    bytes: int = 0
    scalars: int = 0
    rng_states: int = 0
    reads: int = 0
    left_out: int = 0
    outputs: int = 0
    living: int = 0
    uncompared: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    unwatched: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()

    def __add__(self, other: Compared) -> Compared:
        sums: dict[str, Any] = {}
        for each in fields(self):
            a, b = getattr(self, each.name), getattr(other, each.name)
            sums[each.name] = a + b if isinstance(a, int) else tuple(dict.fromkeys([*a, *b]))
        return Compared(**sums)


@dataclass(frozen=True, slots=True)
class Tolerated:
    """The values that a tolerance let pass: how many, and the largest distance in ulps."""

    tolerance: Tolerance
    values: int
    ulps: int


@dataclass(frozen=True, slots=True)
class Identical:
    """Everything compared is equal, but for what is ``tolerated``, and something was compared."""

    compared: Compared
    tolerated: tuple[Tolerated, ...] = ()
    code: ExitCode = field(default=ExitCode.IDENTICAL, init=False)


@dataclass(frozen=True, slots=True)
class Different:
    """Something differs: the first divergence, and the first of each kind and place after it."""

    compared: Compared
    first: Divergence
    rest: tuple[Divergence, ...]
    tolerated: tuple[Tolerated, ...] = ()
    code: ExitCode = field(default=ExitCode.DIFFERENT, init=False)


@dataclass(frozen=True, slots=True)
class NotComparable:
    """No judgement is possible; ``found`` is a difference that may have another cause than the code."""

    reason: str
    found: Different | None = None
    code: ExitCode = field(default=ExitCode.NOTHING_COMPARABLE, init=False)


Comparison = Identical | Different | NotComparable


def by_tolerance(found: Comparison) -> bool:
    """Tell whether a comparison passed by a tolerance only."""
    return isinstance(found, Identical) and bool(found.tolerated)
