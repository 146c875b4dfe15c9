"""Golden runs: against their goldens, against the base, or only in what holds on every machine."""

from __future__ import annotations

from dataclasses import replace

from ci.checks.against import against
from ci.checks.check import Context
from ci.checks.places import command_place, folder_of
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict
from golden.check.fixtures import common_path
from golden.check.properties import Property
from golden.check.verify import Failed as RunFailed
from golden.check.verify import Judged, NoGolden, compare_everywhere, verify_one
from golden.check.verify import Verdict as RunVerdict
from golden.compare import Comparison, Different, Identical, NotComparable
from golden.compare.divergence import Divergence
from golden.compare.outputs import KIND
from golden.record import Run, find_run
from golden.report.build import verdict_line
from golden.report.text import describe
from golden.report.verdicts import render_verdict
from golden.trace.errors import ExitCode, GoldenError


def golden(context: Context, name: str) -> Verdict:
    """Judge one run by its golden and its properties, or by the base if there is one.

    A golden whose replacement was accepted judges its run: that it differs from the base's is wanted.
    """
    run = find_run(name, context.root)
    if context.base is not None and not context.wanted(f"golden.{name.partition('.')[0]}"):
        return against(context, context.base, name)
    found = [_judged(context, run, verdict) for verdict in verify_one(context.recordings(run))]
    for kind in (Failed, CouldNotRun):
        for verdict in found:
            if isinstance(verdict, kind):
                return verdict
    return Passed("; ".join(verdict.detail for verdict in found))


def _judged(context: Context, run: Run, found: RunVerdict) -> Verdict:
    match found:
        case Judged(comparison=Different(first=first)):
            return _failed(context, run, _difference(first), found)
        case Judged(comparison=comparison):
            return _verdict(run.name, comparison)
        case Property():
            if found.code is ExitCode.IDENTICAL:
                return Passed(f"{found.name} holds")
            detail = _first_lines(render_verdict(found))
            if found.code is ExitCode.DIFFERENT:
                return _failed(context, run, detail, found)
            return CouldNotRun(detail)
        case NoGolden(common=Different()):
            return _failed(context, run, _first_lines(render_verdict(found)), found)
        case NoGolden():
            return CouldNotRun("no golden for this machine; compare two versions instead with --base REF")
        case RunFailed(message=message):
            return CouldNotRun(message)


def _failed(context: Context, run: Run, detail: str, found: RunVerdict) -> Failed:
    text = render_verdict(found) + "\n"
    kept = context.keep(f"{folder_of(run.name)}.txt", text)
    return Failed(detail, (command_place(context.root, run.name, detail),), kept)


def counts(context: Context, name: str) -> Verdict:
    """Compare one run's event counts, order, shapes: what a golden says of every machine."""
    run = find_run(name, context.root)
    if not run.everywhere.events:
        return CouldNotRun(
            "its events depend on the machine ([everywhere] events = false): no counts to compare"
        )
    path = common_path(context.root, name)
    if not path.exists():
        return CouldNotRun(f"{context.shown(path)} is missing; make it with `golden record {name} --update`")
    verdict = _verdict(name, compare_everywhere(run, context.recordings(run).trace(), path))
    if isinstance(verdict, Failed):
        return replace(verdict, places=(command_place(context.root, name, verdict.detail),))
    return verdict


def _verdict(name: str, found: Comparison) -> Verdict:
    detail = verdict_line(name, found).partition(": ")[2]
    match found:
        case Identical():
            return Passed(detail)
        case Different(first=first, rest=rest):
            # What differs most plainly here is how many there are of a kind.
            told = next((change for change in (first, *rest) if change.kind == KIND), first)
            return Failed(_difference(told))
        case NotComparable():
            return CouldNotRun(detail)


def _difference(found: Divergence) -> str:
    """Return the difference with two more lines; those below them are details."""
    head, *more = describe(found)
    return "; ".join([f"different: {head}", *[line for line in more if not line.startswith(" ")][:2]])


def _first_lines(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines()[:3])


__all__ = ["GoldenError", "counts", "golden"]
