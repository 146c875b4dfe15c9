"""The command `golden mutate`."""

from __future__ import annotations

from pathlib import Path

import click

from esper_harness.report.plain import visible
from golden.mutate.measure import measure
from golden.mutate.plan import Request
from golden.mutate.text import plan_lines, result_lines
from golden.record import find_root, find_runs
from golden.trace.errors import ExitCode, UnusableInput

_path = click.Path(path_type=Path)


@click.command("mutate")
@click.argument("paths", nargs=-1, type=_path, metavar="[PATHS...]")
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True)
@click.option("--base", metavar="REF", help="Only in statements that the working tree changed since REF.")
@click.option("--run", "names", multiple=True, metavar="RUN", help="A golden run; all of them by default.")
@click.option("--minutes", type=click.FloatRange(min=0), default=10, help="For how long, 10; 0: no limit.")
@click.option("--mutants", "most", type=click.IntRange(min=1), help="How many to run at most.")
@click.option(
    "-n",
    "--jobs",
    "workers",
    type=click.IntRange(min=1),
    help="How many programs run at a time; one per core by default.",
)
def mutate_command(
    paths: tuple[Path, ...],
    root: Path | None,
    base: str | None,
    names: tuple[str, ...],
    minutes: float,
    most: int | None,
    workers: int | None,
) -> int:
    """Make small mistakes in lines that golden runs execute, and count those that the runs kill.

    Say where: PATHS, or with --base the statements that a change touched. The working tree is copied, and
    stays as it is. Exit status: 0 done; 2 unusable input; 4 no mutant could be run, or a run differs
    from itself.
    """
    root = root or find_root(Path.cwd())
    if not paths and base is None:
        raise UnusableInput("say where: name files or folders, or a change with --base REF")
    request = Request(
        runs=find_runs(names, root),
        paths=[_below(path, root) for path in paths],
        base=base,
        most=most,
        minutes=minutes or None,
        workers=workers,
    )
    found = measure(root, request, begin=lambda *plan: click.echo("\n".join(plan_lines(*plan))))
    for line in result_lines(found):
        click.echo(visible(line))
    if found.share is None:
        return ExitCode.NOTHING_COMPARABLE
    return ExitCode.IDENTICAL


def _below(path: Path, root: Path) -> str:
    try:
        return str(path.resolve().relative_to(root.resolve()))
    except ValueError:
        raise UnusableInput(f"{path} is not in {root}") from None
