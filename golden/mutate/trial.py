"""One mutant, run by the golden runs that execute its line, up to the first optimizer step that differs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from golden.compare import Different, Identical, compare
from golden.mutate.copies import Snapshot
from golden.mutate.mutants import Mutant
from golden.mutate.original import Original
from golden.record import record_run
from golden.record.live import stopping
from golden.record.process import Stopped
from golden.report.text import describe
from golden.trace.errors import NothingComparable, RunFailed, UnusableInput
from golden.trace.kinds import KINDS
from golden.trace.trace import Trace

# A run that takes this many times as long as the original, and some seconds more, counts as a crash.
_PATIENCE, _GRACE_S = 4.0, 20.0
# What a comparison never forgives; counts of reads and random states are left to it.
_COMPARED = (*KINDS, "losses")
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
    """Run a mutant, and end it at its first optimizer step that differs where that can be seen."""
    longest = _PATIENCE * original.seconds + _GRACE_S
    run = original.run.model_copy(update={"timeout": min(original.run.timeout, longest)})
    watcher = Watcher(original.trace) if can_watch(original.trace) else None
    try:
        trace = record_run(run, root=tree, out=out, data=run.data_folder(), watch=watcher)
    except Stopped:
        assert watcher is not None
        return "different", watcher.different or ""
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


class Watcher:
    """Follows the record of a run while it grows, beside that of the unchanged program."""

    def __init__(self, reference: Trace) -> None:
        [process] = reference.processes
        text = (process.folder / "steps.jsonl").read_text(encoding="utf-8")
        self._known = [_compared(line) for line in text.splitlines() if line.startswith('{"step":')]
        self._read: dict[Path, tuple[int, int]] = {}
        self.different: str | None = None

    def __call__(self, folder: Path) -> bool:
        """Tell whether a step differs by now."""
        paths = [path for path in folder.glob("process-*/steps.jsonl") if path.stat().st_size]
        # Which of several processes is which, is told at their end.
        if len(paths) == 1:
            self._follow(paths[0])
        return self.different is not None

    def _follow(self, path: Path) -> None:
        offset, step = self._read.get(path, (0, 0))
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                if not line.startswith(b'{"step":'):
                    continue
                if step >= len(self._known):
                    self.different = f"optimizer step {step} is extra"
                elif _compared(line.decode()) != self._known[step]:
                    self.different = f"differs at optimizer step {step}"
                if self.different:
                    return
                step += 1
        self._read[path] = offset, step


def can_watch(reference: Trace) -> bool:
    """Tell whether the first step that differs decides: one process, no tolerance."""
    return len(reference.processes) == 1 and not reference.about.tolerances


def _compared(line: str) -> list[Any]:
    record = json.loads(line)
    return [record.get(key) for key in _COMPARED]
