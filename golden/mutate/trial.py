"""One mutant, run by the golden runs that execute its line."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from golden.compare import Different, Identical, compare
from golden.mutate.copies import Snapshot
from golden.mutate.mutants import Mutant
from golden.mutate.original import Original
from golden.record import record_run
from golden.record.live import stopping
from golden.report.text import describe
from golden.trace.errors import NothingComparable, RunFailed, UnusableInput

# A run that takes this many times as long as the original, and some seconds more, counts as a crash.
_PATIENCE, _GRACE_S = 4.0, 20.0
How = Literal["different", "crashed", "nothing comparable", "survived", "not tried"]


class Answer(BaseModel, extra="forbid", frozen=True):
    """The verdict of one run on a mutant."""

    run: str
    how: How
    what: str = ""
    seconds: float = 0.0

    @property
    def killed(self) -> bool:
        """True if the verdict is anything but identical."""
        return self.how in ("different", "crashed", "nothing comparable")


# Given the original, a tree with a mutant and a folder for its trace: how it differs.
Judge = Callable[[Original, Path, Path], tuple[How, str]]


def first_difference(original: Original, tree: Path, out: Path) -> tuple[How, str]:
    """Run a mutant and compare it with the original."""
    longest = _PATIENCE * original.seconds + _GRACE_S
    run = original.run.model_copy(update={"timeout": min(original.run.timeout, longest)})
    try:
        trace = record_run(run, root=tree, out=out, data=run.data_folder())
    except RunFailed as error:
        if stopping():
            raise
        return "crashed", str(error).removeprefix(f"run {run.name}: ")
    except NothingComparable as error:
        return "nothing comparable", str(error).removeprefix(f"run {run.name}: ")
    except UnusableInput as error:
        return "not tried", str(error)
    match compare(original.trace, trace):
        case Identical():
            return "survived", ""
        case Different(first=first):
            return "different", describe(first)[0]
        case found:
            return "nothing comparable", found.reason


def try_out(
    mutant: Mutant, runs: Iterable[Original], tree: Snapshot, *, out: Path, judge: Judge = first_difference
) -> tuple[Answer, ...]:
    """Have some runs run a mutant, one after the other, until one kills it."""
    answers = list[Answer]()
    for original in runs:
        with tree.copy() as place:
            file = place / mutant.path
            file.write_bytes(mutant.applied(file.read_bytes()))
            begun = time.monotonic()
            how, what = judge(original, place, out / mutant.name / original.run.name)
            seconds = round(time.monotonic() - begun, 1)
            what = what.replace(str(place), "{root}")
        answers.append(Answer(run=original.run.name, how=how, what=what, seconds=seconds))
        if answers[-1].killed:
            break
    shutil.rmtree(out / mutant.name, ignore_errors=True)
    return tuple(answers)
