"""Differences of two fingerprints under which bits can't be compared; needs no torch."""

from __future__ import annotations

from collections.abc import Mapping

# The canary says more than the name of a CPU: equal canaries mean equal kernels.
_SAID_BY_CANARY = ("cpu", "system", "python")


def deciding(found: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a fingerprint that decide whether bits are comparable."""
    without = _SAID_BY_CANARY if "canary" in found else ()
    return {n: value for n, value in found.items() if n not in without}


def gap(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    """Name the parts in which two fingerprints differ; empty where bits differ only because of the code."""
    a, b = deciding(left), deciding(right)
    if "canary" in a and "canary" in b:
        # Builds of one version with equal canaries run the same kernels.
        a, b = ({**side, "torch": side.get("torch", "").partition("+")[0]} for side in (a, b))
    parts = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    return "; ".join(
        "other kernels" if name == "canary" else f"{name}: {a.get(name)} and {b.get(name)}" for name in parts
    )
