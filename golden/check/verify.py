"""Runs against their goldens, and the renewal of goldens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from golden.check.ab import Notify, check_used, doctor, quiet
from golden.check.fixtures import (
    FOLDER,
    CommonGolden,
    Golden,
    check_definition,
    common_path,
    dump,
    golden_path,
    load_common,
    load_golden,
    write_whole,
)
from golden.check.properties import Property, Recordings, judge_property
from golden.check.shard import keep_durations
from golden.compare import Compared, Comparison, Different, Identical, NotComparable
from golden.compare.outcome import by_tolerance
from golden.compare.steps import compare_process
from golden.compare.summaries import compare_common, compare_summaries
from golden.record import Run, run_files
from golden.trace.errors import ExitCode, GoldenError, NothingComparable, UnusableInput
from golden.trace.reads import totals
from golden.trace.summary import summarise, summarise_common
from golden.trace.trace import KINDS, Trace


@dataclass(frozen=True, slots=True)
class Judged:
    """A run that was judged by its golden."""

    run: str
    comparison: Comparison
    seconds: float

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for."""
        return self.comparison.code

    @property
    def tolerated(self) -> bool:
        """Whether it passed by a tolerance only."""
        return by_tolerance(self.comparison)


@dataclass(frozen=True, slots=True)
class NoGolden:
    """A run without a golden for this machine; ``common`` judges what holds everywhere, if that is known."""

    run: str
    common: Comparison | None
    seconds: float
    known: tuple[str, ...]

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for."""
        return ExitCode.DIFFERENT if isinstance(self.common, Different) else ExitCode.NOTHING_COMPARABLE


@dataclass(frozen=True, slots=True)
class Failed:
    """A run or one of its properties (RUN, PROPERTY) that came to no end, or whose golden is unusable."""

    run: str
    message: str
    code: ExitCode
    seconds: float = 0.0


# A golden stays small enough to be reviewed.
_TOLERATED_AT_MOST = 500
Verdict = Judged | NoGolden | Property | Failed


def verify(
    runs: Sequence[Run], *, root: Path, out: Path, workers: int = 1, notify: Notify = quiet
) -> list[tuple[Verdict, ...]]:
    """Judge every run by its golden, then by each of its properties, ``workers`` runs at a time.

    A run that fails leaves the others alone.
    """

    def all_of(run: Run) -> tuple[Verdict, ...]:
        return verify_one(run, Recordings(run, root=root, out=out, notify=notify), root)

    with ThreadPoolExecutor(max_workers=workers) as pool:
        return list(pool.map(all_of, runs))


def verify_one(run: Run, recordings: Recordings, root: Path) -> tuple[Verdict, ...]:
    """Judge one run by its golden, then by each of its properties, from its recordings."""
    return tuple(_judge_one(run, name, recordings, root) for name in (None, *run.same))


def _judge_one(run: Run, name: str | None, recordings: Recordings, root: Path) -> Verdict:
    """A property of a run; with no name, the run by its golden."""
    try:
        if name is not None:
            return judge_property(run, name, recordings)
        check_goldens(run, root)
        return judge(run, recordings.trace(), root)
    except GoldenError as error:
        return Failed(run.name if name is None else f"{run.name}, {name}", str(error), error.code)


def check_goldens(run: Run, root: Path) -> None:
    """Raise `UnusableInput` for a golden of the run that can't be used, before time is spent on the run.

    Raises `NothingComparable` for a run that no golden can judge.
    """
    check_keepable(run)
    for path in sorted((root / FOLDER / run.name).glob("*.json")):
        if path == common_path(root, run.name):
            load_common(path, run)
        else:
            load_golden(path, run)


def check_keepable(run: Run) -> None:
    """Raise `NothingComparable` for a run with a tolerance that a golden can't tell of."""
    of = next((t for t in run.tolerance if t.of in KINDS), None)
    if of is not None:
        raise NothingComparable(
            f"tolerance of {of.of} {of.field}: a golden keeps digests of tensors, which have no distance; "
            f"compare two versions with `golden ab {run.name} --base REF`"
        )


def judge(run: Run, trace: Trace, root: Path) -> Verdict:
    """The verdict on a trace by the golden for its fingerprint."""
    seconds = trace.about.seconds
    check_used(trace)
    path = golden_path(root, run.name, trace.about.fingerprint)
    if path.exists():
        golden = load_golden(path, run)
        check_definition(golden, path, run)
        lines = {site.place: site.title for process in trace.processes for site in totals(process)}
        found = compare_summaries(
            golden.summary,
            summarise(trace),
            compared=contents(trace),
            lines=lines,
            tolerances=run.tolerance,
        )
        return Judged(run.name, found, seconds)
    known = tuple(sorted(p.stem for p in path.parent.glob("*.json") if p != common_path(root, run.name)))
    shared = common_path(root, run.name)
    if not shared.exists():
        return NoGolden(run.name, None, seconds, known)
    golden_common = load_common(shared, run)
    check_definition(golden_common, shared, run)
    found = compare_common(golden_common.common, common_of(run, trace).common)
    return NoGolden(run.name, found, seconds, known)


def contents(trace: Trace) -> Compared:
    """How much a trace holds."""
    total = Compared(events=len(trace.events))
    for process in trace.processes:
        total += compare_process(process, process).compared
    return total


Change = Literal["created", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update did to the goldens of one run."""

    run: str
    changes: tuple[tuple[Path, Change], ...]
    code: ExitCode = ExitCode.IDENTICAL


def update(run: Run, *, root: Path, out: Path, notify: Notify = quiet) -> Updated | Failed:
    """Renew the goldens of a run for this machine. A run that differs from itself gets none.

    Raises `UnusableInput` under continuous integration, where nobody looks at what changes.
    """
    refuse_under_ci()
    try:
        check_keepable(run)
        result = doctor(run, root=root, out=out, notify=notify)
    except GoldenError as error:
        return Failed(run.name, str(error), error.code)
    match result.comparison:
        case NotComparable(reason=reason):
            return Failed(run.name, reason, ExitCode.NOTHING_COMPARABLE)
        case Different():
            return Failed(
                run.name, "differs from itself on a second run, so it gets no golden", ExitCode.DIFFERENT
            )
        case Identical():
            pass
    trace = result.left
    try:
        golden = golden_of(run, trace)
    except GoldenError as error:
        return Failed(run.name, str(error), error.code)
    files: list[tuple[Path, Golden | CommonGolden]] = [
        (golden_path(root, run.name, trace.about.fingerprint), golden),
        (common_path(root, run.name), common_of(run, trace)),
    ]
    keep_durations(root, {run.name: trace.about.seconds * run.recordings})
    return Updated(run.name, tuple((path, _write(path, dump(golden))) for path, golden in files))


def refuse_under_ci() -> None:
    """Raise `UnusableInput` under continuous integration."""
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        raise UnusableInput(
            "--update is refused when CI=true: renew goldens where somebody reviews the change"
        )


def golden_of(run: Run, trace: Trace) -> Golden:
    """The golden that a trace would be. Raises `GoldenError` where a golden can't judge the run."""
    check_keepable(run)
    summary = summarise(trace)
    if len(summary.tolerated) > _TOLERATED_AT_MOST:
        raise UnusableInput(
            f"run {run.name}: {len(summary.tolerated):,} numbers have a tolerance, and a golden keeps "
            f"{_TOLERATED_AT_MOST:,} at most: name fewer fields, or compare two versions with `golden ab`"
        )
    return Golden(
        run=run.name,
        definition=run.definition(),
        fingerprint=trace.about.fingerprint,
        summary=summary,
    )


def common_of(run: Run, trace: Trace) -> CommonGolden:
    """What of a trace holds everywhere."""
    everywhere = summarise_common(trace, events=run.everywhere.events, fields=run.everywhere.fields)
    return CommonGolden(run=run.name, definition=run.definition(), common=everywhere)


def _write(path: Path, text: str) -> Change:
    before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
    if before == text:
        return "unchanged"
    write_whole(path, text)
    return "created" if before is None else "changed"


def unused(root: Path) -> list[Path]:
    """Folders of goldens whose run is gone. They are named, never removed."""
    names = {path.stem for path in run_files(root)}
    return sorted(p for p in (root / FOLDER).glob("*") if p.is_dir() and p.name not in names)
