"""Which file of one side the definitions of a file of the other side came from, or went to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from codemods.review.units import Unit


def origins(pairs: Iterable[tuple[Unit, Unit]], gone: Iterable[Unit], new: Iterable[Unit]) -> dict[str, str]:
    """For files of the head with units that are no pair yet, the file of the base that they most likely come
    from: the one with most pairs, of several the one whose path ends most alike, then begins so.
    """
    return _nearest(Counter((after.path, before.path) for before, after in pairs), _paths(new), _paths(gone))


def heirs(pairs: Iterable[tuple[Unit, Unit]], gone: Iterable[Unit], new: Iterable[Unit]) -> dict[str, str]:
    """The same the other way round: for files of the base, where their units most likely went."""
    return _nearest(Counter((before.path, after.path) for before, after in pairs), _paths(gone), _paths(new))


def _paths(units: Iterable[Unit]) -> list[str]:
    return list(dict.fromkeys(unit.path for unit in units))


def _nearest(pairs: Mapping[tuple[str, str], int], paths: list[str], others: list[str]) -> dict[str, str]:
    found = {}
    for path in paths if others else ():
        most = max(pairs.get((path, other), 0) for other in others)
        likely = [other for other in others if pairs.get((path, other), 0) == most]
        ranked = sorted((_alike(path, other), other) for other in likely)
        alike, nearest = ranked[-1]
        if (most or any(alike)) and (len(ranked) == 1 or ranked[-2][0] < alike):
            found[path] = nearest
    return found


def _alike(path: str, other: str) -> tuple[int, int]:
    """With how many equal parts two paths end, and begin."""
    parts = path.split("/"), other.split("/")
    return _common(parts[0][::-1], parts[1][::-1]), _common(*parts)


def _common(left: list[str], right: list[str]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))
