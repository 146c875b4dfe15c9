"""One mistake, planted and run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from golden.compare import Different, Identical, compare
from golden.power.mistakes import Mistake
from golden.power.reference import Reference
from golden.power.trees import Tree
from golden.power.watch import Watcher, can_watch
from golden.record import record_run
from golden.record.live import stopping
from golden.record.process import Stopped
from golden.report.text import describe
from golden.trace.errors import NothingComparable, RunFailed, UnusableInput

# A run that takes this many times as long as the unchanged one, and some seconds more, has noticed.
_PATIENCE, _GRACE_S = 4.0, 20.0
How = Literal["different", "crashed", "nothing comparable", "survived", "not tried"]


class Answer(BaseModel):
    """What one run says to a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    how: How
    what: str = ""
    seconds: float = 0.0

    @property
    def noticed(self) -> bool:
        """Whether the verdict would be anything but identical."""
        return self.how in ("different", "crashed", "nothing comparable")


class Judge(Protocol):
    """Runs a program with a mistake in it, and says how it differs from the unchanged one."""

    def __call__(self, reference: Reference, tree: Tree, *, out: Path) -> tuple[How, str]: ...


def plant(
    mistake: Mistake,
    runs: Iterable[Reference],
    tree: Tree,
    *,
    out: Path,
    judge: Judge | None = None,
) -> tuple[Answer, ...]:
    """Run some runs, one after the other, until one notices; ``judge`` says what that is.

    Without one a run is ended at its first difference.
    """
    answers = list[Answer]()
    planted = mistake.planted((tree.root / mistake.path).read_bytes())
    for reference in runs:
        with tree.with_file(mistake.path, planted):
            place = out / mistake.name / reference.run.name
            answers.append(_answer(reference, tree, judge or _first_difference, out=place))
        if answers[-1].noticed:
            break
    shutil.rmtree(out / mistake.name, ignore_errors=True)
    return tuple(answers)


def _answer(reference: Reference, tree: Tree, judge: Judge, *, out: Path) -> Answer:
    begun = time.monotonic()
    how, what = judge(reference, tree, out=out)
    return Answer(
        run=reference.run.name,
        how=how,
        what=what.replace(str(tree.root), "{root}"),
        seconds=round(time.monotonic() - begun, 1),
    )


def _first_difference(reference: Reference, tree: Tree, *, out: Path) -> tuple[How, str]:
    longest = _PATIENCE * reference.seconds + _GRACE_S
    run = reference.run.model_copy(update={"timeout": min(reference.run.timeout, longest)})
    watcher = Watcher(reference.trace) if can_watch(reference.trace) else None
    try:
        trace = record_run(run, root=tree.root, out=out, data=run.data_folder(), watch=watcher)
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
    match compare(reference.trace, trace):
        case Identical():
            return "survived", ""
        case Different(first=first):
            return "different", describe(first)[0]
        case found:
            return "nothing comparable", found.reason
