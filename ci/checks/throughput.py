"""The time of a run against the base's, in turns, so that what else the machine does hits both alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from ci.checks.check import Context
from ci.checks.sides import runs_of
from ci.config import Throughput
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict
from golden.record import record_run


def throughput(context: Context, wanted: Throughput) -> Verdict:
    """Time base and head ``repeats`` times each, and take the median of the paired ratios."""
    base = context.base
    if base is None:
        return CouldNotRun("there is no base to be timed against; give one with --base REF")
    pair = runs_of(context, base, wanted.run)
    base.share(pair.data)

    def seconds(side: str, number: int) -> float:
        root, run = (base.runnable, pair.base) if side == "base" else (context.root, pair.head)
        out = context.scratch / "throughput" / f"{side}-{number}"
        trace = record_run(run, root=root, out=out, data=run.data_folder(), label=side)
        return trace.about.seconds

    ratios = [_pair(seconds, number) for number in range(wanted.repeats)]
    ratio = statistics.median(ratios)
    spread = f"{min(ratios):.2f}-{max(ratios):.2f} in {wanted.repeats} pairs"
    detail = (
        f"{wanted.run} takes {ratio:.2f} times as long as at {base.ref} ({spread}), bound {wanted.bound:g}"
    )
    return Failed(detail) if ratio > wanted.bound else Passed(detail)


def _pair(seconds: Callable[[str, int], float], number: int) -> float:
    """Head over base; who goes first changes from pair to pair."""
    if number % 2:
        head = seconds("head", number)
        return head / seconds("base", number)
    base = seconds("base", number)
    return seconds("head", number) / base
