"""One run of two versions: recorded, compared, and said."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import click

from golden.check.ab import AbResult, Side, ab
from golden.check.advice import unmatched
from golden.check.fixtures import write_whole
from golden.check.localize import localize
from golden.check.progress import progress
from golden.check.results import Result
from golden.compare import Different
from golden.compare.outcome import by_tolerance
from golden.reach.changes import Change
from golden.reach.evidence import Sides, evidence
from golden.reach.tell import tell
from golden.record import Run
from golden.record.git import share
from golden.report import closely, render, render_localized
from golden.report.build import LOCALIZED
from golden.report.text import describe, not_compared
from golden.simulated.child import simulated
from golden.simulated.result import compare as compare_results
from golden.simulated.result import read_result
from golden.simulated.text import render_changes
from golden.trace.errors import ExitCode, GoldenError, UnusableInput, worst


@dataclass(frozen=True, slots=True)
class Versions:
    """The two versions that are compared, and what of their difference is to be noted."""

    root: Path
    base: str | None
    head: str | None
    base_root: Path
    head_root: Path
    since: Change | None
    # Whether the run has a name of its own, which is then said with the verdict.
    named: bool = True

    def sides(self, run: Run) -> tuple[Side, Side]:
        """Return a run of both, with what git does not keep."""
        head = f"head ({self.head or 'working tree'})"
        if self.base:
            left = Side(f"base ({self.base})", run, self.base_root, self.root)
        else:
            left = Side("base (variant base)", _base(run), self.root)
        for tree in (self.base_root, self.head_root):
            share(run.data.paths if run.data else (), self.root, tree)
        return left, Side(head, run, self.head_root, self.root if self.head else None)


def compare_run(
    run: Run, versions: Versions, folder: Path, *, data: Path | None, workers: int, localizing: bool
) -> tuple[Result, Sides | None]:
    """Compare one run of two versions, and say what came of it, with the lines that ran.

    An error is one of this run only.
    """
    begun = time.monotonic()
    without: tuple[str, ...] = ()
    place, since = folder / run.name, versions.since
    try:
        left, right = versions.sides(run)
        given = run.data_folder(data)
        files = since.files if since is not None else ()
        result = ab(left, right, out=place, data=given, workers=workers, reach=files)
        code, tolerated = result.comparison.code, by_tolerance(result.comparison)
        without = not_compared(result.comparison)
        reached = result.reached
        devices, changed = _devices(run, result, versions)
        code = ExitCode(worst([int(code), ExitCode.DIFFERENT if changed else ExitCode.IDENTICAL]))
        text = "\n".join(
            [text_of(result, run.name if versions.named else ""), *devices, *told(since, run.name, reached)]
        )
        click.echo(text)
        for note in unmatched(result.left):
            progress.say(f"note: {note}")
        if localizing and isinstance(result.comparison, Different):
            _localize(result, left, right, place, given)
    except GoldenError as error:
        code, text, tolerated, reached = error.code, f"golden: {error}", False, None
        click.echo(text, err=True)
    traces = {"left": f"{run.name}/base", "right": f"{run.name}/head"}
    kept = all((folder / path / "trace.json").exists() for path in traces.values())
    result_of_run = Result(
        run=run.name,
        code=code,
        text=text,
        tolerated=tolerated,
        seconds=time.monotonic() - begun,
        budget=3 * run.budget,
        not_compared=without,
        **(traces if kept else {}),
    )
    return result_of_run, reached


def _devices(run: Run, result: AbResult, versions: Versions) -> tuple[list[str], bool]:
    """Return syncs, races and peak memory of both sides on simulated devices, and whether they differ."""
    if not simulated(run.device):
        return [], False
    base, head = read_result(result.left.folder), read_result(result.right.folder)
    if base is None or head is None:
        return ["syncs: not compared, since a side had no tensor on the device"], False
    found = compare_results(base, head)
    names = (versions.base or "variant base", versions.head or "working tree")
    return [render_changes(found, names=names)], found.differ


_LEFTOVER = (
    "if that is what a run finds of an earlier one, in its tree or in the home folder, let it write to {out} "
    "or leave it out by [outputs] mask: a line that is masked as a whole counts on neither side"
)


def _base(run: Run) -> Run:
    if "base" not in run.variants:
        raise UnusableInput(f"run {run.name} has no [variants.base] table; name a git ref with --base REF")
    return run.variant("base")


def _localize(result: AbResult, base: Side, head: Side, out: Path, data: Path | None) -> None:
    found = localize(result, base, head, out=out, data=data)
    if found is None:
        click.echo(
            "the first divergence belongs to no optimizer step, and neither an operation nor a line differs "
            "after the last one"
        )
    else:
        click.echo(render_localized(found))
        write_whole(out / LOCALIZED, "\n".join(closely(found)) + "\n")


def told(since: Change | None, run: str, reached: Sides | None) -> list[str]:
    """Say what a run reached of the change, where there is one of Python and the run came to its end."""
    if since is None or not since.files or reached is None:
        return []
    return tell(evidence(since, {run: reached}))


def text_of(result: AbResult, run: str = "") -> str:
    """Return the verdict in words, with the name of the run where there may be several."""
    base = f"{run}, {result.left.title}" if run else result.left.title
    text = render(result.comparison, left=base, right=result.right.title)
    if not isinstance(result.itself, Different):
        return text
    first = "\n".join(describe(result.itself.first))
    return f"{text}\nwhat differs first: {first}\n{_LEFTOVER}"
