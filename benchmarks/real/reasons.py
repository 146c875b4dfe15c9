"""Every code for which a helper is refused, not only the one that is reported."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def all_codes(path: Path) -> dict[str, list[str]]:
    """The codes of each helper of a file, each rule asked alone.

    Rules that look at other files are left out, and a rule that fails because one before it would refuse.
    """
    from codemods.program.lifting import Analysis, Lifting
    from codemods.program.source import analysing, read_source
    from codemods.rewrites.refusals import first
    from codemods.rewrites.rules.decision import CHECKS

    found: dict[str, list[str]] = {}
    with analysing():
        analysis = Analysis(read_source(path))
        lifting = Lifting(analysis, set(analysis.helpers), {})
        names = numbered([helper.qualname for helper in analysis.helpers])
        for name, helper in zip(names, analysis.helpers, strict=True):
            codes = found[name] = []
            for check in CHECKS:
                try:
                    refusal = first(check(lifting, helper))
                except (AssertionError, AttributeError, KeyError, IndexError, TypeError, ValueError):
                    continue
                if refusal is not None and refusal.code not in codes:
                    codes.append(refusal.code)
    return found


def numbered(names: list[str]) -> list[str]:
    """The names, the second and later ones of the same told apart by a number."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
