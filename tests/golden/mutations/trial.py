"""Plant one change in a copy of the tree, run it, and compare with the unchanged trainer."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import xxhash

from golden.check.properties import Recordings, judge_property
from golden.check.verify import contents
from golden.compare import Comparison, Different, Identical, compare
from golden.compare.outcome import Divergence, EventChange
from golden.compare.summaries import compare_summaries
from golden.record import Run, load_run, record_run
from golden.report.text import describe
from golden.trace.errors import GoldenError
from golden.trace.summary import summarise
from golden.trace.trace import Trace, load_trace
from tests.golden.mutations.corpus import REPOSITORY, TRAINER_RUNS, Mutation

# What the trainer's runs need of the repository.
_PROGRAM = ("src", "tests/golden/trainer")
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
    """Runs trials, and keeps what came of them in a folder, so that an interrupted table can go on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = _digest_of_program()
        folder.mkdir(parents=True, exist_ok=True)

    def known(self, mutation: Mutation) -> Trial | None:
        """The trial of a change, if it was tried on the trainer and the runs as they are."""
        path = self._result(mutation)
        return Trial(**json.loads(path.read_text())) if path.exists() else None

    def try_out(self, mutation: Mutation) -> Trial:
        """Run the change through the run that is to catch it and, if that fails, through all others."""
        trial = Trial(mutation.name, "", mutation.run)
        for name in dict.fromkeys([mutation.run, *TRAINER_RUNS]):
            trial = self._through(mutation, name)
            if trial.caught:
                break
        self._result(mutation).write_text(json.dumps(dataclasses.asdict(trial)))
        return trial

    def reference(self, name: str) -> Trace:
        """The trace of a run of the unchanged trainer, recorded once."""
        folder = self._folder / f"reference-{self._program}" / name
        return load_trace(folder) if folder.exists() else record_run(_run(name), root=REPOSITORY, out=folder)

    def _result(self, mutation: Mutation) -> Path:
        text = f"{self._program} {mutation.file} {mutation.before} {mutation.after} {mutation.run}"
        return self._folder / f"{mutation.name}-{xxhash.xxh3_64_hexdigest(text.encode())}.json"

    def _through(self, mutation: Mutation, name: str) -> Trial:
        reference = self.reference(name)
        run = _run(name)
        with changed_tree(mutation) as root:
            recordings = Recordings(run, root=root, out=root / "traces")
            try:
                found = _judge(mutation, name, reference, recordings.trace())
                for prop in run.same:
                    if not found.caught:
                        found = _judge_property(mutation, run, prop, recordings)
            except GoldenError as error:
                return Trial(mutation.name, "crashed", name, str(error).replace(str(root), "{root}"))
            return found


def _judge(mutation: Mutation, name: str, reference: Trace, trace: Trace) -> Trial:
    found: Comparison = compare(reference, trace)
    stored = compare_summaries(summarise(reference), summarise(trace), compared=contents(trace))
    if isinstance(found, Identical) != isinstance(stored, Identical):
        raise AssertionError(f"{mutation.name}: the traces and the goldens made of them disagree")
    return _told(mutation, name, found)


def _judge_property(mutation: Mutation, run: Run, name: str, recordings: Recordings) -> Trial:
    trials = [
        _told(mutation, f"{run.name}, {name}", agreement.comparison)
        for agreement in judge_property(run, name, recordings).agreements
    ]
    return next((trial for trial in trials if trial.caught), trials[0])


def _told(mutation: Mutation, name: str, found: Comparison) -> Trial:
    if not isinstance(found, Different):
        return Trial(mutation.name, "", name)
    everything = [found.first, *found.rest]
    events = [divergence for divergence in everything if isinstance(divergence, EventChange)]
    steps = [divergence for divergence in everything if not isinstance(divergence, EventChange)]
    return Trial(mutation.name, "different", name, describe(found.first)[0], _head(steps), _head(events))


def _head(divergences: list[Divergence]) -> str | None:
    if not divergences:
        return None
    lines = describe(divergences[0])
    # When it was written is not what differs.
    told = [line for line in lines[1:-1] if not line.startswith("written before")]
    fields = told if isinstance(divergences[0], EventChange) else []
    return "; ".join([lines[0], *fields])


def _run(name: str) -> Run:
    run = load_run(REPOSITORY / "golden" / "runs" / f"{name}.toml")
    return run.model_copy(update={"timeout": min(run.timeout, _LONGEST_S)})


@contextmanager
def changed_tree(mutation: Mutation) -> Iterator[Path]:
    """A temporary copy of the trainer with the change in it."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as scratch:
        root = Path(scratch)
        for part in _PROGRAM:
            shutil.copytree(REPOSITORY / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        mutation.apply(root)
        yield root


def _digest_of_program() -> str:
    digest = xxhash.xxh3_64()
    for name in TRAINER_RUNS:
        digest.update(_run(name).definition().encode())
    for path in (path for part in _PROGRAM for path in sorted((REPOSITORY / part).rglob("*.py"))):
        digest.update(f"{path.relative_to(REPOSITORY)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
