"""Plant one change in a copy of the tree, run it, and compare with the unchanged trainer."""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xxhash

from golden.check.properties import Recordings, judge_property
from golden.compare import Comparison, Different, Identical, compare
from golden.compare.divergence import Divergence
from golden.compare.events import KIND as EVENTS
from golden.mutate.copies import Snapshot
from golden.mutate.original import Original
from golden.mutate.trial import Answer, How, try_out
from golden.reach.lines import Reached
from golden.record import Run, load_run, record_run
from golden.report.text import describe
from golden.trace.errors import GoldenError
from golden.trace.golden import digested
from golden.trace.trace import Trace, load_trace
from tests.golden.mutations.corpus import REPOSITORY, TRAINER_RUNS, Mutation

# What the trainer's runs need of the repository.
_PROGRAM = ("src/", "tests/golden/trainer/")
_LONGEST_S = 120.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one change: by which run it was caught, if by any, and what that run named.

    `first` is the head line of the first divergence of all, `step` and `event` of the first of their kind.
    """

    name: str
    caught: Literal["different", "crashed", ""]
    run: str
    first: str = ""
    step: str | None = None
    event: str | None = None


def is_located(mutation: Mutation, trial: Trial) -> bool:
    """Whether the run named the places that the corpus says."""
    if trial.caught == "crashed":
        return mutation.crash is not None and bool(re.search(mutation.crash, trial.first))
    pairs = ((mutation.step, trial.step), (mutation.event, trial.event))
    return trial.caught == "different" and all(
        found is None if pattern is None else found is not None and bool(re.search(pattern, found))
        for pattern, found in pairs
    )


class Laboratory:
    """Runs trials as `golden mutate` does: in copies of the tree, results kept in a folder."""

    def __init__(self, folder: Path, tree: Snapshot) -> None:
        self._folder = folder
        self._tree = tree
        digest = xxhash.xxh3_64()
        for name in tree.files:
            if name.startswith(_PROGRAM) and name.endswith(".py"):
                digest.update((REPOSITORY / name).read_bytes())
        for name in TRAINER_RUNS:
            digest.update(_run(name).definition().encode())
        self._state = digest.hexdigest()
        self._file = folder / f"planted-{self._state}.jsonl"
        self._lock = threading.Lock()
        self._recording = threading.Lock()
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        self._kept = {name: Answer.model_validate(last) for name, last in map(json.loads, lines)}

    def known(self, mutation: Mutation) -> Trial | None:
        """The trial of a change, if it was tried on the trainer and the runs as they are."""
        last = self._kept.get(mutation.mutant(REPOSITORY).name)
        return None if last is None else _trial(mutation, last)

    def try_out(self, mutation: Mutation) -> Trial:
        """Run the change through the run that is to catch it and, if that fails, through all others."""
        mutant = mutation.mutant(REPOSITORY)
        runs = map(self.reference, mutant.runs)
        with tempfile.TemporaryDirectory(prefix="mutation-") as out:
            last = try_out(mutant, runs, self._tree, out=Path(out), judge=_located)[-1]
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([mutant.name, last.model_dump()]) + "\n")
        return _trial(mutation, last)

    def reference(self, name: str) -> Original:
        """A run of the unchanged trainer, recorded once: by who asks first, for which the others wait."""
        folder = self._folder / f"reference-{self._state}" / name
        run = _run(name)
        with self._recording:
            trace = load_trace(folder) if folder.exists() else record_run(run, root=REPOSITORY, out=folder)
        return Original(run, trace, Reached({}), trace.about.seconds)


def _located(original: Original, tree: Path, out: Path) -> tuple[How, str]:
    """Run it to its end, with its properties; what differs first of the steps and of the events, as JSON."""
    run = original.run
    recordings = Recordings(run, root=tree, out=out)
    try:
        found = _judge(run, original.trace, recordings.trace())
        for prop in run.same:
            if not found.caught:
                found = _judge_property(prop, recordings)
    except GoldenError as error:
        return "crashed", str(error)
    return (found.caught or "survived"), json.dumps(dataclasses.asdict(found))


def _trial(mutation: Mutation, last: Answer) -> Trial:
    if last.how == "crashed":
        return Trial(mutation.name, "crashed", last.run, last.what)
    return dataclasses.replace(Trial(**json.loads(last.what)), name=mutation.name)


def _judge(run: Run, reference: Trace, trace: Trace) -> Trial:
    found: Comparison = compare(reference, trace)
    stored = compare(digested(reference), digested(trace))
    if isinstance(found, Identical) != isinstance(stored, Identical):
        raise AssertionError(f"{run.name}: the traces and the goldens made of them disagree")
    return _told(run.name, found)


def _judge_property(name: str, recordings: Recordings) -> Trial:
    trials = [
        _told(f"{recordings.run.name}, {name}", agreement.comparison)
        for agreement in judge_property(name, recordings).agreements
    ]
    return next((trial for trial in trials if trial.caught), trials[0])


def _told(name: str, found: Comparison) -> Trial:
    if not isinstance(found, Different):
        return Trial("", "", name)
    everything = [found.first, *found.rest]
    events = [divergence for divergence in everything if divergence.kind == EVENTS]
    steps = [divergence for divergence in everything if divergence.kind != EVENTS]
    return Trial("", "different", name, describe(found.first)[0], _head(steps), _head(events))


def _head(divergences: list[Divergence]) -> str | None:
    if not divergences:
        return None
    head, *more = describe(divergences[0])
    # When it was written is not what differs.
    fields = [line for line in more if not line.startswith("written before")]
    return "; ".join([head, *fields]) if divergences[0].kind == EVENTS else head


def _run(name: str) -> Run:
    run = load_run(REPOSITORY / "golden" / "runs" / f"{name}.toml")
    return run.model_copy(update={"timeout": min(run.timeout, _LONGEST_S)})
