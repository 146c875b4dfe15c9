"""Every check of a repository in one command: one table, one exit status."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console

from ci.checks import Check, Context, checks, needing_base
from ci.checks.check import Base
from ci.config import ConfigError, load_config
from ci.execute import execute
from ci.report import as_junit, as_markdown, as_sarif, as_table
from ci.report.words import headline
from ci.verdicts import Outcome, Passed
from golden.check.fixtures import write_whole
from golden.check.git import worktree
from golden.trace.errors import GoldenError

_file = click.Path(dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.option(
    "--base", metavar="REF", help="Compare with this git ref, not with stored goldens and baselines."
)
@click.option("--only", multiple=True, metavar="NAME", help="Run the checks whose name contains NAME.")
@click.option("--skip", multiple=True, metavar="NAME", help="Leave out the checks whose name contains NAME.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="How many checks run at a time; by default one per core."
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="A data folder for golden runs with a [data] table."
)
@click.option("--summary", type=_file, metavar="FILE", help="Append a Markdown summary to this file.")
@click.option("--sarif", type=_file, metavar="FILE", help="Write what was found as SARIF 2.1.0.")
@click.option("--junit", type=_file, metavar="FILE", help="Write the checks as JUnit XML.")
@click.option(
    "--root",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The repository; by default the current folder.",
)
def command(
    base: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    jobs: int | None,
    data: Path | None,
    summary: Path | None,
    sarif: Path | None,
    junit: Path | None,
    root: Path,
) -> int:
    """Run the checks that [tool.gate] names.

    Exit status: 0 every check ran and passed, 1 one failed or could not run, 2 unusable input.
    """
    with _context(root.resolve(), base, data) as context:
        chosen = _chosen(context, only, skip)
        outcomes = execute(
            chosen,
            jobs=jobs or os.cpu_count() or 1,
            notify=lambda name: click.echo(f"gate: {name}", err=True),
        )
        left_out = needing_base(context)
    _show(outcomes, left_out)
    if summary is not None:
        before = summary.read_text(encoding="utf-8") if summary.exists() else ""
        write_whole(summary, before + as_markdown(outcomes, left_out=left_out))
    if sarif is not None:
        write_whole(sarif, as_sarif(outcomes, version=version("esper-harness")))
    if junit is not None:
        write_whole(junit, as_junit(outcomes))
    return 0 if all(isinstance(outcome.verdict, Passed) for outcome in outcomes) else 1


@contextlib.contextmanager
def _context(root: Path, ref: str | None, data: Path | None) -> Iterator[Context]:
    config = load_config(root)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-")))
        base = Base(ref, stack.enter_context(worktree(root, ref))) if ref is not None else None
        yield Context(config, root, scratch, base, data)


def _chosen(context: Context, only: tuple[str, ...], skip: tuple[str, ...]) -> list[Check]:
    every = checks(context)
    chosen = [
        check
        for check in every
        if (not only or any(part in check.name for part in only))
        and not any(part in check.name for part in skip)
    ]
    if not chosen:
        names = ", ".join(check.name for check in every)
        left = needing_base(context)
        raise ConfigError(
            f"no check to run: --only and --skip leave none of {names}"
            if every
            else "no check to run: "
            + (f"{', '.join(left)} need --base REF" if left else "[tool.gate] names none")
        )
    return chosen


def _show(outcomes: Sequence[Outcome], left_out: Sequence[str]) -> None:
    width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 160
    console = Console(highlight=False, width=width)
    console.print(as_table(outcomes))
    if left_out:
        console.print(f"left out without --base: {', '.join(left_out)}", markup=False)
    console.print(headline(outcomes), markup=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors become one line and an exit status."""
    try:
        return int(command.main(args=argv, prog_name="golden-gate run", standalone_mode=False) or 0)
    except click.ClickException as error:
        click.echo(f"golden-gate run: {error.format_message()}", err=True)
        return 2
    except (ConfigError, GoldenError) as error:
        click.echo(f"golden-gate run: {error}", err=True)
        return 2
    except OSError as error:
        click.echo(f"golden-gate run: {error.filename}: can't be written: {error.strerror}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("golden-gate run: interrupted", err=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
