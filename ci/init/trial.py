"""Try a proposed run: what it needs, what it writes, how long it takes; and adjust what can be adjusted."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ci.init.propose import MAX_STEPS, Proposal
from golden.check.progress import progress
from golden.check.verify import Failed, update
from golden.record import find_run
from golden.record.process import command_line, environment, execute
from golden.record.recorder import settings
from golden.trace.errors import GoldenError

_UNKNOWN = re.compile(
    r"unrecognized arguments?: (?P<a>.*)|[Nn]o such option:? '?(?P<b>--[\w.-]+)"
    r"|[Uu]nrecognized options?:? (?P<c>.*)"
    r"|[Uu]nknown (?:config )?(?:key|option|argument):? '?(?P<d>[\w.-]+)"
)
_PATH = re.compile(r"[\w.-]*[./][\w./-]*\w")
_MISSING = re.compile(r"ModuleNotFoundError|No module named")
_SCRATCH = re.compile(r"golden-init-\w+")
_NONDETERMINISTIC = "does not have a deterministic implementation"
_TOO_LONG = "not done after"
_SECONDS = 120.0
_ATTEMPTS = 6
# A failure after so long is not tried again to see which option is to blame.
_QUICK = 30.0
_WRITES = (
    *(".pt", ".pth", ".ckpt", ".tar", ".model", ".safetensors", ".npz", ".npy", ".bin", ".pkl"),
    *(".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".log"),
)
# A time, a date, a process: another one in the next run.
_NUMBERED = re.compile(r"(events\.out\.tfevents)\..*|\d{4}-?\d{2}-?\d{2}[^/]*|\d{6,}[^/.]*")


@dataclass(frozen=True, slots=True)
class Tried:
    """A proposal as adjusted, the files that it wrote into the repository, or why it fails."""

    proposal: Proposal
    files: tuple[str, ...]
    failure: str | None


def try_run(proposal: Proposal, *, root: Path, notify: Callable[[str], None]) -> Tried:
    """Run it unobserved until it ends well or nothing is left to adjust."""
    failure: str | None = None
    for _ in range(_ATTEMPTS):
        limit = f", {proposal.max_steps} optimizer steps" if proposal.max_steps else ""
        notify(f"trying (up to {_SECONDS:g} s{limit}): {' '.join(proposal.command)}")
        since = time.time()
        failure, text, took = _attempt(proposal, root=root, seconds=_SECONDS)
        if failure is None:
            return Tried(replace(proposal, budget=took), written(root, since), None)
        adjusted = _adjusted(proposal, failure, text, root) or _without_own(proposal, failure, took, root)
        if adjusted is None:
            break
        proposal, change = adjusted
        notify(f"  {change}")
    if failure is not None and failure.startswith(_TOO_LONG):
        failure = f"{_TOO_LONG} {_SECONDS:g} s; give it less to do with --args"
    return Tried(proposal, (), failure)


def record(name: str, root: Path, notify: Callable[[str], None]) -> str | None:
    """Keep the golden of a run that has none: recorded twice, and kept if both are the same.

    Return why not, where that can't be. Under ``CI=true``, too, where goldens are not renewed: nothing is
    replaced, and who commits it sees it.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="golden-init-") as scratch, progress.shown(quiet=False):
            found = update(find_run(name, root), root=root, out=Path(scratch) / name)
    except GoldenError as error:
        return str(error)
    if isinstance(found, Failed):
        return f"{found.message} (see `golden doctor {name}`)"
    for path, change in found:
        notify(f"{change} {path.relative_to(root)}")
    return None


def _attempt(proposal: Proposal, *, root: Path, seconds: float) -> tuple[str | None, str, float]:
    """Run once: why it failed, what it printed, how long it took."""
    with tempfile.TemporaryDirectory(prefix="golden-init-") as scratch:
        place, outputs = Path(scratch) / "record", Path(scratch) / "out"
        place.mkdir()
        outputs.mkdir()
        run = proposal.run(timeout=seconds)
        begun, failure = time.monotonic(), None
        try:
            argv = command_line(run, root=root, out=outputs, data=None)
            observe = {**settings(run, place), "observe": False}
            variables = environment(run, root=root, observe=observe)
            execute(run, argv, root=root, variables=variables, folder=place, observed=False)
        except GoldenError as error:
            failure = str(error).removeprefix(f"run {run.name}: ")
        took = time.monotonic() - begun
        text = "".join(
            (place / name).read_text("utf-8", "replace")
            for name in ("stdout.txt", "stderr.txt")
            if (place / name).is_file()
        )
        return failure, text, took


def _adjusted(proposal: Proposal, failure: str, text: str, root: Path) -> tuple[Proposal, str] | None:
    """Return another proposal and what is other in it; None where there is nothing to adjust."""
    if _NONDETERMINISTIC in text and not proposal.warn:
        why = 'deterministic = "warn": an operation of it has no deterministic implementation'
        return replace(proposal, warn=True), why
    if _only_beside(proposal, failure, root):
        return replace(proposal, inside=True), f"in {Path(proposal.entry.path).parent}, as its paths want it"
    if match := _UNKNOWN.search(text):
        said = next(group for group in match.groups() if group).split()
        names = [word.partition("=")[0] for word in said]
        options = [o.name for o in proposal.entry.options if o.name in names or o.role in names]
        if options := [name for name in options if name not in proposal.without]:
            return _less(proposal, options), f"without {', '.join(options)}, which it does not know"
    if failure.startswith(_TOO_LONG) and (steps := _fewer(proposal)):
        return replace(proposal, max_steps=steps), f"ending after {steps} optimizer steps: it takes longer"
    return None


def _fewer(proposal: Proposal) -> int | None:
    """Return the next smaller number of optimizer steps."""
    if proposal.max_steps is None:
        return MAX_STEPS
    return MAX_STEPS // 10 if proposal.max_steps == MAX_STEPS else None


def _without_own(proposal: Proposal, failure: str, took: float, root: Path) -> tuple[Proposal, str] | None:
    """Return it without the option of init's own that makes it fail, or with a launcher."""
    if failure.startswith(_TOO_LONG) or _MISSING.search(failure):
        return None
    given = proposal.arguments.given

    def cures(names: Sequence[str]) -> bool:
        other, _, _ = _attempt(_less(proposal, names), root=root, seconds=_QUICK + 2 * took)
        return other is None or _SCRATCH.sub("", other) != _SCRATCH.sub("", failure)

    if given and took < _QUICK and cures(given):
        culprit = next(([name] for name in given if len(given) > 1 and cures([name])), given)
        return _less(proposal, culprit), f"without {', '.join(culprit)}: with it, {failure}"
    if proposal.entry.distributed and not proposal.launched:
        return replace(proposal, launched=True), f"as two processes: as one, {failure}"
    return None


def _less(proposal: Proposal, names: Sequence[str]) -> Proposal:
    return replace(proposal, without=(*proposal.without, *names))


def _only_beside(proposal: Proposal, failure: str, root: Path) -> bool:
    """Return whether a file that it did not find is there, seen from the script's own folder."""
    folder = (root / proposal.entry.path).parent
    # A path that the user gives is one that is seen from the repository.
    if proposal.inside or proposal.more or folder == root:
        return False
    named = (path for path in _PATH.findall(failure) if not Path(path).is_absolute())
    return any((folder / path).exists() and not (root / path).exists() for path in named)


def written(root: Path, since: float) -> tuple[str, ...]:
    """Return globs of the metrics and checkpoints that were written into the repository ``since`` then."""
    paths = sorted(path.relative_to(root).as_posix() for path in _changed(root, since))
    found = (path for path in paths if "tfevents" in path or Path(path).suffix in _WRITES)
    return tuple(dict.fromkeys(map(_pattern, found)))


def _pattern(path: str) -> str:
    """Return a glob for a file and its like of other runs: a part of its path with this year is a date."""
    year = time.strftime("%Y")
    parts = [part if year not in part or "tfevents" in part else "*" for part in path.split("/")]
    parts[-1] = parts[-1] if parts[-1] != "*" else f"*{Path(path).suffix}"
    return _NUMBERED.sub(lambda m: f"{m[1] or ''}*", "/".join(parts))


def _changed(root: Path, since: float) -> Iterator[Path]:
    for place, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".") and name != "__pycache__"]
        for name in files:
            with contextlib.suppress(OSError):
                if (Path(place) / name).stat().st_mtime >= since:
                    yield Path(place) / name
