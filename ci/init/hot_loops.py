"""Hot loops of a repository, and the stalls in them that are there already."""

from __future__ import annotations

from pathlib import Path

from codemods.hotpath.baseline import NAME, Baseline, render_baseline, update_baseline
from codemods.hotpath.check import check
from codemods.hotpath.config import read_config
from codemods.hotpath.results import Report

BASELINE = NAME


def hot_report(root: Path, paths: tuple[str, ...]) -> Report:
    """What the static checker says. Raises `SourceError`."""
    return check([root / path for path in paths], read_config(root), root=root)


def loops(report: Report) -> list[str]:
    """The loops, as ``file:line header``."""
    return [f"{loop.place.path}:{loop.place.line} {loop.header}" for loop in report.loops]


def baseline_text(report: Report) -> str:
    """A baseline that accepts what is there."""
    empty = Baseline((), NAME)
    reason, owner = "there before the gate", "nobody yet"
    return render_baseline(update_baseline(report, empty, reason=reason, owner=owner).baseline.entries)
