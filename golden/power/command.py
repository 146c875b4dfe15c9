"""The command `golden power`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import click

from golden.check.fixtures import check_writable, write_whole
from golden.check.git import commit_of
from golden.check.progress import progress
from golden.check.shard import parse_shard
from golden.executors.settings import Name, executor_options, given, settings
from golden.power.jobs import measure_as_jobs
from golden.power.measure import measure
from golden.power.power import Plan
from golden.power.request import Request
from golden.power.result import FILE, Power, merged, write
from golden.power.text import plan_lines, result_lines
from golden.record import find_root, find_runs
from golden.report.plain import visible
from golden.trace.errors import ExitCode, UnusableInput

_PAGE = "golden.power.page"
_path = click.Path(path_type=Path)


@click.command("power")
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
@click.option("--mistakes", "most", type=click.IntRange(min=1), help="How many to plant at most.")
@click.option(
    "-n",
    "--jobs",
    "workers",
    type=click.IntRange(min=1),
    help="How many programs run at a time; one per core by default. With --executor, how many jobs.",
)
@click.option("--shard", "part", metavar="I/N", help="Every N-th mistake, for one of N machines.")
@click.option("--plan", "only_plan", is_flag=True, help="Say what would be done, and end.")
@click.option("--merge", "merging", is_flag=True, help="Put together the results of shards, which PATHS are.")
@click.option("--at-least", type=click.FloatRange(0, 1), help="Exit with 1 if a smaller share is noticed.")
@click.option("-o", "--out", type=_path, help="Keep results here; the same command goes on where it ended.")
@click.option("--html", type=_path, metavar="FILE", help="A page: the files, with what was not noticed.")
@click.option("--schema", is_flag=True, help=f"Print the JSON schema of {FILE}, and end.")
@executor_options
def power_command(
    paths: tuple[Path, ...],
    root: Path | None,
    base: str | None,
    names: tuple[str, ...],
    data: Path | None,
    minutes: float,
    most: int | None,
    workers: int | None,
    part: str | None,
    only_plan: bool,
    merging: bool,
    at_least: float | None,
    out: Path | None,
    html: Path | None,
    schema: bool,
    executor: Name | None,
    parameters: tuple[str, ...],
) -> int:
    """Plant small mistakes in lines that golden runs execute: would the runs notice?

    Say where: PATHS, or with --base the statements that a change touched. The working tree is copied, and
    stays as it is. Exit status: 0 done; 1 a smaller share than --at-least was noticed; 2 unusable input;
    4 no mistake could be tried, or a run differs from itself.
    """
    if schema:
        click.echo(json.dumps(Power.model_json_schema(), indent=1))
        return ExitCode.IDENTICAL
    root = root or find_root(Path.cwd())
    if html is not None:
        # A page that can't be drawn is told before anything runs.
        importlib.import_module(_PAGE)
        check_writable(html)
    if merging:
        if not paths:
            raise UnusableInput("name the folders of the shards' results")
        return _finish(merged(paths), root, None, html, at_least)
    if not paths and base is None:
        raise UnusableInput("say where: name files or folders, or a change with --base REF")
    runs = find_runs(names, root)
    jobs = settings(executor, parameters, out=out, at_a_time=workers)
    if jobs is not None and part is not None:
        raise UnusableInput("--executor shares the mistakes among its jobs: leave out --shard")
    if jobs is not None and not only_plan:
        options = given(base=base, data=data, minutes=minutes, mistakes=most)
        arguments = [
            *(str(path.absolute()) for path in paths),
            *(f"--run={name}" for name in names),
            *options,
        ]
        commits = (commit_of(root, base),) if base is not None else ()
        found = measure_as_jobs(
            arguments,
            runs,
            jobs,
            minutes=minutes or None,
            root=root.resolve(),
            refs=commits,
            notify=progress.say,
        )
        return _finish(found, root, out, html, at_least)
    asked = Request(
        runs=runs,
        paths=[_below(path, root) for path in paths],
        base=base,
        shard=parse_shard(part) if part else (1, 1),
        most=most,
        minutes=minutes or None,
        workers=workers,
        data=data,
        kept=out,
    )

    def begin(plan: Plan) -> bool:
        click.echo("\n".join(plan_lines(plan)))
        return not only_plan

    measured = measure(root, asked, say=progress.say, begin=begin)
    return ExitCode.IDENTICAL if measured is None else _finish(measured, root, out, html, at_least)


def _finish(found: Power, root: Path, out: Path | None, html: Path | None, at_least: float | None) -> int:
    for line in result_lines(found):
        click.echo(visible(line))
    if out is not None:
        write(out / FILE, found)
        click.echo(f"results -> {out / FILE}")
    if html is not None:
        from golden.power.page import render_page  # needs jinja2, which is an extra

        write_whole(html, render_page(found, root))
        click.echo(f"page -> {html}")
    if found.share is None:
        return ExitCode.NOTHING_COMPARABLE
    return ExitCode.DIFFERENT if at_least is not None and found.share < at_least else ExitCode.IDENTICAL


def _below(path: Path, root: Path) -> str:
    try:
        return str(path.resolve().relative_to(root.resolve()))
    except ValueError:
        raise UnusableInput(f"{path} is not in {root}") from None
