"""Settings of optimizers, gradient scalers and processes at the end of two runs."""

from __future__ import annotations

from collections.abc import Mapping

from esper_harness.report.plain import listed
from golden.compare.divergence import Rows, unequal
from golden.compare.outcome import Compared
from golden.compare.sides import Found, Sides
from golden.trace.held import settings


def compare_held(sides: Sides) -> Found:
    """Find the settings that differ at the end, and name those that could not be compared."""
    left, right = sides.left, sides.right
    a, b = settings(left), settings(right)
    found = [
        Rows(f"{title}: {name}".removesuffix(": "), a[title].get(name, "none"), b[title].get(name, "none"))
        for title in a
        if title in b
        for name in unequal(a[title], b[title])
    ]
    return Found(found, Compared(uncompared=_alone(a, b)))


def _alone(a: Mapping[str, object], b: Mapping[str, object]) -> tuple[str, ...]:
    """Name the settings that one side held and the other did not."""
    names = [name for name in dict.fromkeys([*a, *b]) if name not in a or name not in b]
    return (f"held on one side only ({listed(names, 3, '; ')})",) if names else ()
