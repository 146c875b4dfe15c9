"""Run checks, side by side where they may; one that crashes has a name and leaves the others alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ci.checks import Check
from ci.verdicts import CouldNotRun, Outcome, Verdict
from golden.trace.errors import GoldenError


def execute(checks: Sequence[Check], *, jobs: int, notify: Callable[[str], None]) -> list[Outcome]:
    """The outcomes in the order of the checks. Checks that are timed run last, one at a time."""
    in_turn = [check for check in checks if check.runs == "in turn"]
    groups = [in_turn, *([check] for check in checks if check.runs == "beside")]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        found = [pair for group in pool.map(lambda group: _run(group, notify), groups) for pair in group]
    found += _run([check for check in checks if check.runs == "alone"], notify)
    outcomes = dict(found)
    return [outcomes[id(check)] for check in checks]


def _run(checks: Sequence[Check], notify: Callable[[str], None]) -> list[tuple[int, Outcome]]:
    """Run checks one after the other; the outcomes by the identity of their check."""
    found = []
    for check in checks:
        notify(check.name)
        started = time.perf_counter()
        verdict = _verdict(check)
        found.append((id(check), Outcome(check.name, verdict, time.perf_counter() - started)))
    return found


def _verdict(check: Check) -> Verdict:
    try:
        return check.run()
    except GoldenError as error:
        return CouldNotRun(str(error))
    except Exception as error:  # a check that crashes must not take the others with it
        return CouldNotRun(f"crashed: {type(error).__name__}: {error}".splitlines()[0])
