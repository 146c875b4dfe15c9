"""Properties: what variants of a run have in common, judged by running them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from golden.check.progress import progress
from golden.compare import Comparison
from golden.compare.replicas import compare_replicas
from golden.compare.scope import compare_within
from golden.record import Run, record_run
from golden.trace.errors import ExitCode, GoldenError, worst
from golden.trace.trace import Trace


class Recordings:
    """The traces of one run and its variants, each recorded when it is first asked for, by any thread.

    ``seconds`` is what that took so far.
    """

    def __init__(self, run: Run, *, root: Path, out: Path) -> None:
        self.run = run
        self.root = root
        self._out = out
        self._known: dict[str | None, Trace | GoldenError] = {}
        self._lock = threading.Lock()
        self.seconds = 0.0

    def trace(self, variant: str | None = None) -> Trace:
        """Return the trace of a variant, or of the run itself. Raises what recording it raised, each time."""
        with self._lock:
            if variant not in self._known:
                self._known[variant] = self._record(variant)
            found = self._known[variant]
        if isinstance(found, GoldenError):
            raise found
        return found

    def _record(self, variant: str | None) -> Trace | GoldenError:
        run = self.run if variant is None else self.run.variant(variant)
        progress.say(f"{run.name}: running")
        begun = time.monotonic()
        try:
            return record_run(run, root=self.root, out=self._out / run.name, label=run.name)
        except GoldenError as error:
            return error
        finally:
            self.seconds += time.monotonic() - begun


@dataclass(frozen=True, slots=True)
class Agreement:
    """Both sides of a property, and whether they agree."""

    left: str
    right: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a run that was judged: one comparison per variant."""

    run: str
    name: str
    says: str
    agreements: tuple[Agreement, ...]
    seconds: float

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for: that of its worst comparison."""
        return ExitCode(worst([agreement.comparison.code for agreement in self.agreements]))


def judge_property(name: str, recordings: Recordings) -> Property:
    """Compare all sides of a property of a run. Raises what recording one of them raised."""
    run = recordings.run
    same = run.same[name]
    before = recordings.seconds
    left = recordings.trace()
    agreements = []
    if same.replicas:
        agreements.append(Agreement("rank 0", "the other ranks", compare_replicas(left)))
    for variant in same.variants:
        right = recordings.trace(variant)
        agreements.append(Agreement(left.title, right.title, compare_within(left, right, same)))
    return Property(run.name, name, same.says, tuple(agreements), recordings.seconds - before)
