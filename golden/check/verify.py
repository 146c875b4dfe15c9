"""Runs against their goldens, and the renewal of goldens."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from golden.check.ab import doctor
from golden.check.advice import check_declared, check_matched
from golden.check.fixtures import (
    Golden,
    check_definition,
    common_path,
    dump,
    golden_files,
    golden_path,
    load_golden,
    write_whole,
)
from golden.check.properties import Property, Recordings, judge_property
from golden.compare import Comparison, Different, Identical, NotComparable, compare
from golden.compare.compare import judge
from golden.record import Run
from golden.trace.errors import ExitCode, GoldenError, NothingComparable, UnusableInput
from golden.trace.golden import digested, everywhere, records_of
from golden.trace.kinds import KINDS
from golden.trace.trace import Trace, gap, titles
from golden.trace.unstable import leave_out, leave_out_ids


@dataclass(frozen=True, slots=True)
class Judged:
    """A run that was judged by the golden called ``golden``, which may be one of another kind of machine."""

    run: str
    comparison: Comparison
    seconds: float
    golden: str
    elsewhere: bool = False

    @property
    def code(self) -> ExitCode:
        """The exit status that it asks for."""
        return self.comparison.code


@dataclass(frozen=True, slots=True)
class NoGolden:
    """A run without a golden for this machine; ``common`` judges what holds everywhere, if that is known.

    ``known`` names the goldens of other machines, which all differ; ``nearest`` is the difference to the one
    whose fingerprint is most alike, and ``unlike`` says in what that is another one.
    """

    run: str
    common: Comparison | None
    seconds: float
    known: tuple[str, ...]
    nearest: Different | None = None
    unlike: str = ""

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


Verdict = Judged | NoGolden | Property | Failed


def verify(runs: Sequence[Run], *, root: Path, out: Path, workers: int = 1) -> list[tuple[Verdict, ...]]:
    """Judge every run by its golden, then by each of its properties, ``workers`` runs at a time.

    A run that fails leaves the others alone.
    """
    with ThreadPoolExecutor(max_workers=workers) as pool:
        return list(pool.map(lambda run: verify_one(Recordings(run, root=root, out=out)), runs))


def verify_one(recordings: Recordings) -> tuple[Verdict, ...]:
    """Judge one run by its golden, then by each of its properties, from its recordings."""
    return tuple(judge_one(name, recordings) for name in (None, *recordings.run.same))


def judge_one(name: str | None, recordings: Recordings) -> Verdict:
    """Return a property of a run; with no name, the run by its golden."""
    begun, run = time.monotonic(), recordings.run
    try:
        if name is not None:
            return judge_property(name, recordings)
        known = usable_goldens(run, recordings.root)
        return _by_golden(run, recordings.trace(), known, common_path(recordings.root, run.name))
    except GoldenError as error:
        place = run.name if name is None else f"{run.name}, {name}"
        return Failed(place, str(error), error.code, time.monotonic() - begun)


def usable_goldens(run: Run, root: Path) -> dict[Path, Golden]:
    """Return the goldens of a run, in order, before time is spent on it.

    Raises `UnusableInput` for one that can't be used, `NothingComparable` for a run that none can judge.
    """
    check_keepable(run)
    common = common_path(root, run.name)
    if common.exists():
        load_golden(common, run)
    return {path: load_golden(path, run) for path in golden_files(root, run)}


def check_keepable(run: Run) -> None:
    """Raise `NothingComparable` for a run with a tolerance that a golden can't tell of."""
    of = next((t for t in run.tolerance if t.of in KINDS), None)
    if of is not None:
        raise NothingComparable(
            f"tolerance of {of.of} {of.field}: a golden keeps digests of tensors, which have no distance; "
            f"compare two versions with `golden ab {run.name} --base REF`"
        )


def _by_golden(run: Run, trace: Trace, found: Mapping[Path, Golden], shared: Path) -> Verdict:
    """Judge a trace by the golden for its fingerprint, or by one of another machine that it equals.

    Equal bits are identical whatever the machine; where they differ, only a golden that covers this kind of
    machine says that the code is the cause.
    """
    seconds = trace.about.seconds
    check_declared(run, trace)
    here = trace.about.fingerprint
    own = {path: golden for path, golden in found.items() if golden.covers(here)}
    usable = {path: g for path, g in (own or found).items() if g.definition == run.definition()}
    for path, golden in (own or found).items():
        if not usable:
            check_definition(golden, path, run)
    verdicts = {path: compare_with(golden, trace) for path, golden in usable.items()}
    for path, verdict in verdicts.items():
        if isinstance(verdict, Identical):
            check_matched(trace)
        if own or isinstance(verdict, Identical):
            return Judged(run.name, verdict, seconds, path.stem, elsewhere=not own)
    common = compare_everywhere(run, trace, shared) if shared.exists() else None
    known = tuple(path.stem for path in found)
    differences = {path: gap(golden.fingerprint, here) for path, golden in usable.items()}
    for path, unlike in sorted(differences.items(), key=lambda item: len(item[1])):
        nearest = verdicts[path]
        if isinstance(nearest, Different):
            others = tuple(stem for stem in known if stem != path.stem)
            return NoGolden(run.name, common, seconds, (path.stem, *others), nearest, unlike)
    return NoGolden(run.name, common, seconds, known)


def compare_with(golden: Golden, trace: Trace) -> Comparison:
    """Compare a trace with a golden; what is compared is told as the trace has it."""
    now = leave_out(leave_out_ids(trace), golden.unstable)
    found = compare(golden.trace(now), digested(now))
    if isinstance(found, NotComparable):
        return found
    itself = judge(now, now)
    assert isinstance(itself, Identical)
    whole = itself.compared
    uncompared = tuple(dict.fromkeys([*whole.uncompared, *found.compared.uncompared]))
    kept = found.compared
    told = replace(
        whole,
        uncompared=uncompared,
        unstable=titles(golden.unstable),
        outputs=whole.outputs if kept.outputs else 0,
        living=whole.living if kept.living else 0,
    )
    return replace(found, compared=told)


def compare_everywhere(run: Run, trace: Trace, path: Path) -> Comparison:
    """Compare the part of a golden that holds on every machine with the trace."""
    golden = load_golden(path, run)
    check_definition(golden, path, run)
    now = common_of(run, trace)
    return compare(golden.trace(trace), now.trace(trace))


Change = Literal["created", "changed", "unchanged"]


def update(run: Run, *, root: Path, out: Path) -> list[tuple[Path, Change]] | Failed:
    """Renew the goldens of a run for this machine, and say how. A run that differs from itself gets none."""
    try:
        check_keepable(run)
        result = doctor(run, root=root, out=out, ids=False)
    except GoldenError as error:
        return Failed(run.name, str(error), error.code)
    found = result.comparison
    if not isinstance(found, Identical):
        itself = "differs from itself on a second run, so it gets no golden"
        return Failed(run.name, found.reason if isinstance(found, NotComparable) else itself, found.code)
    trace = result.left
    files = [
        place(golden_of(run, trace), run, root),
        (common_path(root, run.name), common_of(run, trace)),
    ]
    return [(path, _write(path, dump(golden))) for path, golden in files]


def refuse_under_ci() -> None:
    """Raise `UnusableInput` under continuous integration, where nobody looks at what changes."""
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        raise UnusableInput(
            "--update is refused when CI=true: renew goldens where somebody reviews the change"
        )


def golden_of(run: Run, trace: Trace) -> Golden:
    """Return the golden that a trace would be."""
    unstable = trace.about.unstable
    now = leave_out(leave_out_ids(trace), unstable)
    return Golden(
        run=run.name,
        definition=run.definition(),
        fingerprint=trace.about.fingerprint,
        unstable=unstable,
        records=records_of(now),
    )


def place(golden: Golden, run: Run, root: Path) -> tuple[Path, Golden]:
    """Choose the file of a new golden, and add what it takes over from there.

    In the file of this kind of machine, in that of another one which gave the same bits, or in a file of its
    own. A file whose bits change keeps this machine's fingerprint only.
    """
    new = golden.fingerprint
    known = {}
    for path in golden_files(root, run):
        with contextlib.suppress(UnusableInput):
            known[path] = load_golden(path, run)
    for path, old in sorted(known.items(), key=lambda item: not item[1].covers(new)):
        same = old.records == golden.records and old.unstable == golden.unstable
        if same and old.definition == golden.definition:
            also = old.also if old.covers(new) else [*old.also, new]
            return path, old.model_copy(update={"also": also})
        if old.covers(new):
            return path, golden
    return golden_path(root, run.name, new), golden


def common_of(run: Run, trace: Trace) -> Golden:
    """Return the part of a golden that holds on every machine."""
    records = everywhere(trace, events=run.everywhere.events)
    return Golden(run=run.name, definition=run.definition(), records=records)


def _write(path: Path, text: str) -> Change:
    before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
    if before == text:
        return "unchanged"
    write_whole(path, text)
    return "created" if before is None else "changed"
