"""Hot loops of a repository, and the stalls in them that are there already."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from codemods.hotpath.baseline import NAME, Baseline, render_baseline
from codemods.hotpath.check import check
from codemods.hotpath.compare import update_baseline
from codemods.hotpath.config import read_config
from codemods.hotpath.results import Report

BASELINE = NAME


def hot_report(root: Path, paths: tuple[str, ...]) -> Report:
    """What the static checker says. Raises `SourceError`."""
    return check([root / path for path in paths], read_config(root), root=root)


def loops(report: Report, files: Collection[str]) -> tuple[list[str], str | None]:
    """The loops in some files, as ``file:line header``; and how many are in others, where there are any."""
    within = [loop for loop in report.loops if loop.place.path in files]
    beyond = [loop.place.path for loop in report.loops if loop.place.path not in files]
    found = [f"{loop.place.path}:{loop.place.line} {loop.header}" for loop in within]
    if not beyond:
        return found, None
    count = len(set(beyond))
    others = f"{count} file{'' if count == 1 else 's'}"
    return found, f"{len(beyond)} more in {others} that the run does not import"


def baseline_text(report: Report) -> str:
    """A baseline that accepts what is there."""
    empty = Baseline((), NAME)
    return render_baseline(update_baseline(report, empty, reason="there before the gate").baseline.entries)
