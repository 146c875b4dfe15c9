"""Syncs in hot loops: those that the base, or the baseline, does not have."""

from __future__ import annotations

from collections import Counter

from ci.checks.check import Context
from ci.config import HotPath
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.api import SourceError
from codemods.hotpath.baseline import Entry, read_baseline
from codemods.hotpath.check import check, check_commit
from codemods.hotpath.compare import Comparison, compare
from codemods.hotpath.config import read_config
from codemods.hotpath.results import Finding, Report


def hotpath(context: Context, wanted: HotPath) -> Verdict:
    """Check, and compare with the base or the baseline."""
    try:
        found, before = _compared(context, wanted)
    except SourceError as error:
        return CouldNotRun(str(error))
    if found.clean:
        return _clean(found, before)
    places = (*map(_place, found.new), *(_stale(entry, count, wanted) for entry, count in found.stale))
    parts = [f"{len(found.new)} new"] if found.new else []
    parts += [f"{len(found.stale)} entries of the baseline match nothing"] if found.stale else []
    first = places[0]
    where = f"{first.path}:{first.line}" if first.line else first.path
    return Failed(f"{', '.join(parts)}; {where}: {first.message}", places)


def _compared(context: Context, wanted: HotPath) -> tuple[Comparison, Report | None]:
    """Compare with the base, whose report comes second, or with the baseline."""
    paths = [context.root / path for path in wanted.paths]
    config = read_config(context.root)
    report = check(paths, config, root=context.root)
    if context.base is not None:
        before = check_commit(context.base.ref, paths, config, root=context.root)
        return compare(report, before, against=context.base.ref), before
    if wanted.baseline is not None:
        return compare(report, read_baseline(context.root / wanted.baseline)), None
    return compare(report), None


def _clean(found: Comparison, before: Report | None) -> Verdict:
    report = found.report
    if not report.loops:
        return CouldNotRun(
            f"no hot loop in {report.files} files; say which they are in [tool.codemods.hotpath]"
        )
    known = f"{len(found.accepted)} known syncs" if found.accepted else "no sync"
    told = f"{known} in {len(report.loops)} hot loops of {report.files} files"
    cooled = Counter(loop.header for loop in before.loops) if before else Counter[str]()
    cooled -= Counter(loop.header for loop in report.loops)
    if cooled:
        told += f"; hot at {found.against} and not here: {', '.join(f'`{header}`' for header in cooled)}"
    return Passed(told)


def _place(finding: Finding) -> Place:
    path = " -> ".join(step.function.rpartition(".")[2] for step in finding.steps)
    way = f" through {path}" if path else ""
    return Place(
        f"{finding.code} {finding.message}{way}: {finding.text}", finding.place.path, finding.place.line
    )


def _stale(entry: Entry, count: int, wanted: HotPath) -> Place:
    return Place(
        f"{count} of {entry} is gone; take it out with --update-baseline", wanted.baseline or "", entry.line
    )
