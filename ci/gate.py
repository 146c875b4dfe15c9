"""Every check of a repository in one command: one table, one exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ci.checks import CouldNotRun, Failed, Passed, Verdict, checks
from ci.config import ConfigError, load_config

_SHOWN = {Passed: ("passed", "green"), Failed: ("failed", "red"), CouldNotRun: ("could not run", "yellow")}


@click.command()
@click.option(
    "--base", metavar="REF", help="Compare golden runs with this git ref instead of stored goldens."
)
@click.option("--only", multiple=True, metavar="NAME", help="Run the checks whose name contains NAME.")
@click.option(
    "--root",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The repository; by default the current folder.",
)
def command(base: str | None, only: tuple[str, ...], root: Path) -> int:
    """Run the checks that [tool.gate] names.

    Exit status: 0 every check ran and passed, 1 one failed or could not run, 2 unusable input.
    """
    root = root.resolve()
    chosen = [
        check
        for check in checks(load_config(root), root, base)
        if not only or any(part in check.name for part in only)
    ]
    if not chosen:
        raise ConfigError(
            "no check to run: [tool.gate] names none" + (" that --only matches" if only else "")
        )
    verdicts: list[tuple[str, Verdict]] = []
    for check in chosen:
        click.echo(f"gate: {check.name}", err=True)
        verdicts.append((check.name, check.run()))
    _show(verdicts)
    return 0 if all(isinstance(verdict, Passed) for _, verdict in verdicts) else 1


def _show(verdicts: Sequence[tuple[str, Verdict]]) -> None:
    table = Table(box=None)
    for column in ("check", "verdict", "detail"):
        table.add_column(column)
    for name, verdict in verdicts:
        word, style = _SHOWN[type(verdict)]
        detail = verdict.reason if isinstance(verdict, CouldNotRun) else verdict.detail
        table.add_row(name, Text(word, style), Text(detail))
    Console(highlight=False).print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors become one line and an exit status."""
    try:
        return int(command.main(args=argv, prog_name="gate", standalone_mode=False) or 0)
    except click.ClickException as error:
        click.echo(f"gate: {error.format_message()}", err=True)
        return 2
    except ConfigError as error:
        click.echo(f"gate: {error}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("gate: interrupted", err=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
