"""Whether two fingerprints allow their bits to be compared, and if not, why; needs no torch."""

from __future__ import annotations

from collections.abc import Mapping

# What a family of kernels is called in a fingerprint.
PREFIX = "kernels of "
# The canary says more than the name of a CPU: equal canaries mean equal kernels.
_SAID_BY_CANARY = ("cpu", "system", "python")


def deciding(found: Mapping[str, str]) -> dict[str, str]:
    """The parts of a fingerprint that decide whether bits are comparable."""
    without = _SAID_BY_CANARY if "canary" in found else ()
    return {n: value for n, value in found.items() if n not in without and not n.startswith(PREFIX)}


def gap(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    """In which parts two fingerprints differ, in words; empty where bits differ only because of the code."""
    a, b = deciding(left), deciding(right)
    if "canary" in a and "canary" in b:
        # Builds of one version with equal canaries run the same kernels.
        a, b = ({**side, "torch": side.get("torch", "").partition("+")[0]} for side in (a, b))
    parts = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    return "; ".join(
        f"other kernels: {_kernels(left, right)}" if n == "canary" else f"{n}: {a.get(n)} and {b.get(n)}"
        for n in parts
    )


def _kernels(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    families = apart(left, right)
    if families is None:
        return "which is not known, since one side was recorded before they were told apart"
    return ", ".join(families) or "none of the families that are told apart"


def apart(left: Mapping[str, str], right: Mapping[str, str]) -> list[str] | None:
    """The families of kernels that differ between two fingerprints; None where one does not tell."""
    names = [name for name in left if name.startswith(PREFIX) and name in right]
    if not names:
        return None
    return [name.removeprefix(PREFIX) for name in names if left[name] != right[name]]
