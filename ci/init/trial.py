"""Try a proposed run: what it needs, what it writes, how long it takes; and adjust what can be adjusted."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ci.init.propose import Proposal
from ci.init.sightings import Sightings, look
from golden.record.process import command_line, environment, execute
from golden.record.recorder import settings
from golden.trace.errors import GoldenError

_UNKNOWN = re.compile(
    r"unrecognized arguments?: (?P<a>.*)|[Nn]o such option:? '?(?P<b>--[\w.-]+)"
    r"|[Uu]nrecognized options?:? (?P<c>.*)"
    r"|[Uu]nknown (?:config )?(?:key|option|argument):? '?(?P<d>[\w.-]+)|Could not override '(?P<e>[\w.]+)'"
)
_NOT_FOUND = re.compile(r"No such file or directory: '([^']+)'|([\w./-]*[./][\w./-]*) not found")
# No option is to blame for these.
_MISSING = re.compile(r"ModuleNotFoundError|No module named")
_SCRATCH = re.compile(r"golden-init-\w+")
_NONDETERMINISTIC = "does not have a deterministic implementation"
_TOO_LONG = "not done after"
_ATTEMPTS = 6
# What fails after so long is not tried again to see which option is to blame.
_QUICK = 30.0
_SHORTER = 0.25


@dataclass(frozen=True, slots=True)
class Tried:
    """What a proposal came to: as adjusted, what was changed and why, what it wrote, or why it fails."""

    proposal: Proposal
    changes: tuple[str, ...]
    seen: Sightings
    seconds: float
    failure: str | None


def try_run(proposal: Proposal, *, root: Path, seconds: float, notify: Callable[[str], None]) -> Tried:
    """Run it unobserved, up to ``seconds`` at a time, until it ends well or nothing is left to adjust."""
    changes: list[str] = []
    for _ in range(_ATTEMPTS):
        notify(f"trying (up to {seconds:g} s): {' '.join(proposal.command)}")
        failure, seen, took, text = _attempt(proposal, root=root, seconds=seconds)
        if failure is None:
            return Tried(proposal, tuple(changes), seen, took, None)
        adjusted = _adjusted(proposal, failure, text, root)
        if adjusted is None and not failure.startswith(_TOO_LONG) and not _MISSING.search(failure):
            if took < _QUICK:
                adjusted = _blamed(proposal, failure, root=root, seconds=min(seconds, _QUICK + 2 * took))
            if adjusted is None and proposal.entry.distributed and not proposal.launched:
                adjusted = replace(proposal, launched=True), f"as two processes: as one, {failure}"
        if adjusted is None:
            if failure.startswith(_TOO_LONG):
                failure = (
                    f"{_TOO_LONG} {seconds:g} s; "
                    "give it less to do with --args, or more time with --try-seconds"
                )
            break
        proposal, change = adjusted
        changes.append(change)
        notify(f"  {change}")
    return Tried(proposal, tuple(changes), seen, took, failure)


def _blamed(proposal: Proposal, failure: str, *, root: Path, seconds: float) -> tuple[Proposal, str] | None:
    """The same without the option of init's own that makes it fail; None if it fails without all of them."""
    given = proposal.arguments.given
    if not given:
        return None

    def cures(names: Sequence[str]) -> bool:
        other, _, _, _ = _attempt(_less(proposal, names), root=root, seconds=seconds)
        return other is None or _SCRATCH.sub("", other) != _SCRATCH.sub("", failure)

    if not cures(given):
        return None
    culprit = next(([name] for name in given if len(given) > 1 and cures([name])), given)
    return _less(proposal, culprit), f"without {', '.join(culprit)}: with it, {failure}"


def _less(proposal: Proposal, names: Sequence[str]) -> Proposal:
    return replace(proposal, without=(*proposal.without, *names))


def _attempt(proposal: Proposal, *, root: Path, seconds: float) -> tuple[str | None, Sightings, float, str]:
    with tempfile.TemporaryDirectory(prefix="golden-init-") as scratch:
        place, outputs = Path(scratch) / "record", Path(scratch) / "out"
        place.mkdir()
        outputs.mkdir()
        run = proposal.run(timeout=seconds)
        begun, since, failure = time.monotonic(), time.time(), None
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
        return failure, look(outputs, root, since), took, text


def _only_beside(proposal: Proposal, text: str, root: Path) -> bool:
    """Whether a file that it did not find is there, seen from the script's own folder."""
    folder = (root / proposal.entry.path).parent
    missed = [match[1] or match[2] for match in _NOT_FOUND.finditer(text)]
    missed = [path for path in missed if not Path(path).is_absolute()]
    # What the user named is named as it is seen from the repository.
    return (
        not (proposal.inside or proposal.more or folder == root)
        and bool(missed)
        and (folder / missed[-1]).exists()
        and not (root / missed[-1]).exists()
    )


def _adjusted(proposal: Proposal, failure: str, text: str, root: Path) -> tuple[Proposal, str] | None:
    """Another proposal and what is other in it; None where there is nothing to adjust."""
    if _NONDETERMINISTIC in text and proposal.deterministic == "error":
        return replace(proposal, deterministic="warn"), (
            'deterministic = "warn": an operation of it has no deterministic implementation'
        )
    if _only_beside(proposal, text, root):
        return replace(proposal, inside=True), f"in {Path(proposal.entry.path).parent}, as its paths want it"
    match = _UNKNOWN.search(text)
    if match:
        said = next(group for group in match.groups() if group).split()
        names = [word.partition("=")[0] for word in said]
        options = [o.name for o in proposal.entry.options if o.name in names or o.role in names]
        options = [name for name in options if name not in proposal.without]
        if options:
            return replace(proposal, without=(*proposal.without, *options)), (
                f"without {', '.join(options)}, which it does not know"
            )
    if failure.startswith(_TOO_LONG) and proposal.arguments.shortened:
        shorter = replace(proposal, scale=proposal.scale * _SHORTER)
        if shorter.command != proposal.command:
            return shorter, f"shorter: it takes longer than that ({', '.join(proposal.arguments.shortened)})"
    return None
