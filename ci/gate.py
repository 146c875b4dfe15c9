"""Every check of a repository in one command: one table, one exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ci.config import ConfigError
from golden.trace.errors import GoldenError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.option(
    "--base",
    metavar="REF",
    help="Compare with this git ref, not with stored goldens and baselines, by its gate configuration.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="NAME",
    help="Let pass what the check `gate changes` names so, or names so up to a dot.",
)
@click.option("--only", multiple=True, metavar="NAME", help="Run the checks whose name contains NAME.")
@click.option("--skip", multiple=True, metavar="NAME", help="Leave out the checks whose name contains NAME.")
@click.option(
    "-n", "--jobs", type=click.IntRange(min=1), help="How many checks run at a time; by default one per core."
)
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep in this new folder gate.md, gate.sarif and gate.xml (JUnit), and what shows a failure: "
    "traces, pages, output.",
)
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True)
def command(**options: Any) -> int:
    """Run the checks that [tool.gate] names.

    Exit status: 0 every check ran and passed, 1 one failed or could not run, 2 unusable input.
    """
    from ci.judge import Asked, judge  # what it loads takes a second, which help need not wait for
    from golden.check.signals import Ended, ending_programs

    try:
        with ending_programs():
            return judge(Asked(**options))
    except Ended as error:
        click.echo(f"golden-gate run: interrupted ({error})", err=True)
        return error.code


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
        what = error.filename or "standard output"
        click.echo(f"golden-gate run: {what}: can't be written: {error.strerror}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("golden-gate run: interrupted", err=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
