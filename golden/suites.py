"""The commands over a suite of runs: each with its golden, or two versions of all."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from esper_harness.report.plain import many
from golden.check.ab import between
from golden.check.progress import progress
from golden.check.results import Result, Results, parse_shard, shard, write_results
from golden.check.verify import verify
from golden.compare.outcome import by_tolerance
from golden.options import (
    Given,
    ProgramCommand,
    data_option,
    device_option,
    given,
    keep_line,
    kept,
    out_option,
    root_option,
    shard_option,
    workers_option,
)
from golden.reach.evidence import Evidence, evidence
from golden.reach.tell import tell
from golden.record import Run, find_runs
from golden.record.git import uncommitted, worktree
from golden.report import render_verdict
from golden.report.text import not_compared
from golden.report.verdicts import comparisons
from golden.trace.errors import ExitCode, NothingComparable, UnusableInput, worst
from golden.versions import Versions, compare_run


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[RUN...]")
@root_option
@workers_option
@shard_option
@device_option
@out_option
def verify_command(
    names: tuple[str, ...],
    root: Path | None,
    workers: int | None,
    part: str | None,
    device: str | None,
    out: Path | None,
) -> int:
    """Compare runs, all by default, with their goldens, and their variants by their properties.

    With -o DIR the traces stay there, with a file of results that `golden report --merge` reads.
    """
    asked = given(names, root=root)
    suite = _suite(asked, device)
    runs = shard(suite, *parse_shard(part))
    with kept(out) as folder:
        found = verify(runs, root=asked.root, out=folder, workers=workers or 1)
    results = []
    for run, verdicts in zip(runs, found, strict=True):
        text = "\n".join(map(render_verdict, verdicts))
        judged = [comparison for verdict in verdicts for comparison in comparisons(verdict)]
        click.echo(text)
        right = run.name if out and (out / run.name / "trace.json").exists() else None
        results.append(
            Result(
                run=run.name,
                code=ExitCode(worst([verdict.code for verdict in verdicts])),
                text=text,
                tolerated=any(map(by_tolerance, judged)),
                seconds=sum(verdict.seconds for verdict in verdicts),
                budget=run.budget,
                right=right,
                not_compared=tuple(dict.fromkeys(line for found in judged for line in not_compared(found))),
            )
        )
    return _finish("verify", suite, part, results, out, None)


@click.command("ab", cls=ProgramCommand)
@click.argument("names", nargs=-1, metavar="[RUN...]")
@root_option
@click.option(
    "--base", metavar="REF", help="The git ref to compare with; by default the run's own variant `base`."
)
@click.option("--head", metavar="REF", help="The git ref under test; by default the working tree.")
@click.option(
    "--localize",
    "closely",
    is_flag=True,
    help="On a difference, run both again, and name operation and line.",
)
@data_option
@workers_option
@shard_option
@device_option
@out_option
def ab_command(
    names: tuple[str, ...],
    root: Path | None,
    base: str | None,
    head: str | None,
    closely: bool,
    data: Path | None,
    workers: int | None,
    part: str | None,
    device: str | None,
    out: Path | None,
) -> int:
    """Compare two versions on this machine, now: of some runs, or with --base of all.

    With a command after --, of that: golden ab --base main -- python train.py --steps 20

    With -o DIR the traces stay there, with a file of results that `golden report --merge` reads.
    """
    asked = given(names, root=root, data=data)
    root = asked.root
    if head is not None and base is None:
        raise UnusableInput("--head REF needs --base REF")
    if asked.is_program and part:
        raise UnusableInput("--shard is for runs; make one with `golden init NAME -- COMMAND`")
    if asked.is_program and base is None:
        raise UnusableInput("say which version the command is compared with: --base REF")
    if not asked.runs and base is None:
        raise UnusableInput("name a run, or compare all of them with another version with --base REF")
    suite = _suite(asked, device)
    runs = shard(suite, *parse_shard(part))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(kept(out))
        base_root = stack.enter_context(worktree(root, base)) if base else root
        head_root = stack.enter_context(worktree(root, head)) if head else root
        since = between(root, base, head, base_root, head_root) if base else None
        versions = Versions(root, base, head, base_root, head_root, since, named=not asked.is_program)
        if base and not head and (edits := uncommitted(root)):
            changes = many(edits, "uncommitted change")
            progress.say(f"the working tree has {changes}; what is compared has them, too")
        found = [
            compare_run(run, versions, folder, data=asked.data, workers=workers or 1, localizing=closely)
            for run in runs
        ]
    results = [result for result, _ in found]
    reached = evidence(since, {result.run: sides for result, sides in found}) if since is not None else None
    if since is not None and reached is not None and since.files and len(runs) > 1:
        click.echo("\n".join(tell(reached)))
    code = worst([int(result.code) for result in results])
    if len(suite) > 1 or part or out is not None:
        code = _finish("ab", suite, part, results, out, reached)
    if asked.is_program and code not in (ExitCode.UNUSABLE, ExitCode.RUN_FAILED):
        click.echo(keep_line(data))
    return code


def _suite(asked: Given, device: str | None) -> list[Run]:
    """Return the runs that are given, or all; on another device, all that can go there."""
    runs = asked.runs or find_runs((), asked.root)
    if device is None:
        return runs
    staying = [run.name for run in runs if not run.moves]
    if staying and not asked.runs:
        progress.say(f"left out, since their command has no {{device}}: {', '.join(staying)}")
        runs = [run for run in runs if run.moves]
        if not runs:
            raise NothingComparable(f"no run has {{device}} in its command, so none can go to {device}")
    return [run.on(device) for run in runs]


def _finish(
    command: str,
    suite: list[Run],
    part: str | None,
    results: list[Result],
    out: Path | None,
    reached: Evidence | None,
) -> int:
    """Print planned against spent, keep the results where the traces are, and give the exit status."""
    planned, spent = sum(r.budget for r in results), sum(r.seconds for r in results)
    click.echo(f"{len(results)} runs: {planned:.0f} s planned, {spent:.1f} s spent")
    if out is not None:
        names = tuple(run.name for run in suite)
        found = Results(
            command=command, shard=parse_shard(part), suite=names, results=tuple(results), evidence=reached
        )
        write_results(out, found)
    return worst([int(result.code) for result in results])
