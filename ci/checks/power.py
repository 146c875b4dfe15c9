"""Mutants of the statements of the change: how many golden runs kill."""

from __future__ import annotations

from ci.base import Base
from ci.checks.check import Context
from ci.checks.sides import runs_of
from ci.config import Power
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from golden.mutate.measure import measure
from golden.mutate.plan import NothingChanged, Request
from golden.mutate.text import headline, result_lines
from golden.trace.errors import GoldenError


def power(context: Context, wanted: Power, base: Base) -> Verdict:
    """Run mutants until time is up; the share that is killed must be large enough."""
    try:
        asked = Request(
            runs=[runs_of(context, base, name).head for name in wanted.runs],
            paths=[] if "." in wanted.paths else wanted.paths,
            base=base.commit,
            most=wanted.mutants,
            minutes=wanted.minutes,
        )
        found = measure(context.root, asked)
    except NothingChanged as error:
        return Passed(str(error))
    except GoldenError as error:
        return CouldNotRun(str(error))
    if found.share is None:
        return CouldNotRun("no mutant was judged")
    told = headline(found).partition(": ")[2]
    if found.share >= wanted.at_least:
        return Passed(told)
    survived = (each.mutant for each in found.survivors)
    places = (Place(f"nothing notices {each.after}", each.path, each.line) for each in survived)
    kept = context.keep("power.txt", "\n".join(result_lines(found)) + "\n")
    return Failed(f"{told}; at least {wanted.at_least:.0%} are wanted", tuple(places), kept)
