"""Diff coverage, in words: how much of a change the runs executed."""

from __future__ import annotations

from collections.abc import Iterator

from golden.reach.evidence import Evidence

_MOST = 40


def headline(found: Evidence) -> str:
    """Say how many changed lines ran in at least one of some runs."""
    total, runs = found.total, len(found.runs)
    if not total:
        return "diff coverage: no changed line of Python can run"
    known = sum(run.known for run in found.runs)
    if not known:
        return f"diff coverage: nothing is known of {total} changed lines: {found.problem}"
    if found.problem:
        return f"diff coverage: not measured: {found.problem}"
    where = f"in at least one of {known} runs" if runs > 1 else "in this run"
    sides = ", ".join(f"{name} {lines.reached} of {lines.total}" for name, lines in found.sides)
    return f"diff coverage: {found.reached} of {total} changed lines that can run ran {where} ({sides})" + (
        "" if known == runs else f"; nothing is known of {runs - known} runs"
    )


def in_short(found: Evidence) -> list[str]:
    """Return the same where there is room for a few words; nothing of a change that has no line of Python."""
    if not found.total:
        return []
    if found.problem:
        return [f"which changed lines ran is not known: {found.problem}"]
    return [f"{found.reached} of {found.total} changed lines ran"]


def missed_lines(found: Evidence) -> Iterator[tuple[str, str]]:
    """Yield files, each with the side and the lines of a stretch that did not run, in words."""
    for name, side in found.sides:
        for path, first, last in side.missed():
            yield path, f"{name} {_stretch(first, last)}"


def tell(found: Evidence) -> list[str]:
    """Return the headline, then the lines that did not run."""
    lines = [headline(found)]
    if not found.total or found.problem:
        return lines
    for name, side in found.sides:
        missed = list(side.missed())
        lines += [
            f"  did not run in {name}: {path}:{_stretch(first, last)}" for path, first, last in missed[:_MOST]
        ]
        if len(missed) > _MOST:
            lines.append(f"  did not run in {name}: {len(missed) - _MOST} more places")
    return lines


def _stretch(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first)
