"""The command `golden mutate`."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from esper_harness.report.plain import visible
from golden.check.fixtures import check_writable, write_whole
from golden.check.progress import progress
from golden.check.shard import parse_shard
from golden.executors.settings import Executor, Name, executor_options, given, settings
from golden.power.jobs import measure_as_jobs
from golden.power.measure import measure
from golden.power.power import Plan
from golden.power.request import Request
from golden.power.result import FILE, Power, merged, write
from golden.power.text import plan_lines, result_lines
from golden.record import find_root, find_runs
from golden.record.git import commit_of
from golden.trace.errors import ExitCode, UnusableInput

_PAGE = "golden.power.page"
_path = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The options of the command."""

    paths: tuple[Path, ...]
    root: Path | None
    base: str | None
    names: tuple[str, ...]
    data: Path | None
    minutes: float
    most: int | None
    workers: int | None
    part: str | None
    only_plan: bool
    merging: bool
    at_least: float | None
    out: Path | None
    html: Path | None
    schema: bool
    executor: Name | None
    parameters: tuple[str, ...]


@click.command("mutate")
@click.argument("paths", nargs=-1, type=_path, metavar="[PATHS...]")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tree; by default the nearest upwards with golden/runs.",
)
@click.option("--base", metavar="REF", help="Only in statements that the working tree changed since REF.")
@click.option("--run", "names", multiple=True, metavar="RUN", help="A golden run; all of them by default.")
@click.option("--data", type=_path, help="A data folder for runs with a [data] table.")
@click.option("--minutes", type=click.FloatRange(min=0), default=10, help="For how long, 10; 0: no limit.")
@click.option("--mutants", "most", type=click.IntRange(min=1), help="How many to run at most.")
@click.option(
    "-n",
    "--jobs",
    "workers",
    type=click.IntRange(min=1),
    help="How many programs run at a time; one per core by default. With --executor, how many jobs.",
)
@click.option("--shard", "part", metavar="I/N", help="Every N-th mutant, for one of N machines.")
@click.option("--plan", "only_plan", is_flag=True, help="Say what would be done, and end.")
@click.option("--merge", "merging", is_flag=True, help="Put together the results of shards, which PATHS are.")
@click.option("--at-least", type=click.FloatRange(0, 1), help="Exit with 1 below this mutation score.")
@click.option("-o", "--out", type=_path, help="Keep results here; the same command goes on where it ended.")
@click.option("--html", type=_path, metavar="FILE", help="A page: the files, with what survived.")
@click.option("--schema", is_flag=True, help=f"Print the JSON schema of {FILE}, and end.")
@executor_options
def power_command(**options: Any) -> int:
    """Make small mistakes in lines that golden runs execute, and count those that the runs kill.

    Say where: PATHS, or with --base the statements that a change touched. The working tree is copied, and
    stays as it is. Exit status: 0 done; 1 the mutation score is below --at-least; 2 unusable input;
    4 no mutant could be run, or a run differs from itself.
    """
    asked = _Asked(**options)
    if asked.schema:
        click.echo(json.dumps(Power.model_json_schema(), indent=1))
        return ExitCode.IDENTICAL
    root = asked.root or find_root(Path.cwd())
    if asked.html is not None:
        # A page that can't be drawn is told before anything runs.
        importlib.import_module(_PAGE)
        check_writable(asked.html)
    if asked.merging:
        if not asked.paths:
            raise UnusableInput("name the folders of the shards' results")
        return _finish(merged(asked.paths), asked, root, out=None)
    if not asked.paths and asked.base is None:
        raise UnusableInput("say where: name files or folders, or a change with --base REF")
    jobs = settings(asked.executor, asked.parameters, out=asked.out, at_a_time=asked.workers)
    if jobs is not None and asked.part is not None:
        raise UnusableInput("--executor shares the mutants among its jobs: leave out --shard")
    if jobs is not None and not asked.only_plan:
        found: Power | None = _as_jobs(asked, jobs, root)
    else:
        found = _here(asked, root)
    return ExitCode.IDENTICAL if found is None else _finish(found, asked, root, out=asked.out)


def _as_jobs(asked: _Asked, jobs: Executor, root: Path) -> Power:
    """Jobs share the mistakes."""
    options = given(base=asked.base, data=asked.data, minutes=asked.minutes, mutants=asked.most)
    arguments = [
        *(str(path.absolute()) for path in asked.paths),
        *(f"--run={name}" for name in asked.names),
        *options,
    ]
    return measure_as_jobs(
        arguments,
        find_runs(asked.names, root),
        jobs,
        minutes=asked.minutes or None,
        root=root.resolve(),
        refs=(commit_of(root, asked.base),) if asked.base is not None else (),
        notify=progress.say,
    )


def _here(asked: _Asked, root: Path) -> Power | None:
    """Programs of this machine; None where only the plan was asked for."""
    request = Request(
        runs=find_runs(asked.names, root),
        paths=[_below(path, root) for path in asked.paths],
        base=asked.base,
        shard=parse_shard(asked.part) if asked.part else (1, 1),
        most=asked.most,
        minutes=asked.minutes or None,
        workers=asked.workers,
        data=asked.data,
        kept=asked.out,
    )

    def begin(plan: Plan) -> bool:
        click.echo("\n".join(plan_lines(plan)))
        return not asked.only_plan

    return measure(root, request, say=progress.say, begin=begin)


def _finish(found: Power, asked: _Asked, root: Path, *, out: Path | None) -> int:
    for line in result_lines(found):
        click.echo(visible(line))
    if out is not None:
        write(out / FILE, found)
        click.echo(f"results -> {out / FILE}")
    if asked.html is not None:
        from golden.power.page import render_page  # needs jinja2, which is an extra

        write_whole(asked.html, render_page(found, root))
        click.echo(f"page -> {asked.html}")
    if found.share is None:
        return ExitCode.NOTHING_COMPARABLE
    missed = asked.at_least is not None and found.share < asked.at_least
    return ExitCode.DIFFERENT if missed else ExitCode.IDENTICAL


def _below(path: Path, root: Path) -> str:
    try:
        return str(path.resolve().relative_to(root.resolve()))
    except ValueError:
        raise UnusableInput(f"{path} is not in {root}") from None
