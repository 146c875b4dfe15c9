"""How a command of the static half runs and ends, and where its text goes: a file, or standard output; either
may be full.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from codemods.program.source import Unusable, analysing


class OutputError(click.ClickException):
    """A report that can't be written."""

    exit_code = 2


def run_command(command: click.Command, argv: Sequence[str] | None) -> int:
    """Run a command; its exit status: 2 for input that can't be used, of which one line is told."""
    name = f"codemods {command.name}"
    try:
        with analysing():
            status = command.main(
                args=list(sys.argv[1:] if argv is None else argv), prog_name=name, standalone_mode=False
            )
    except (click.ClickException, Unusable, RuntimeError) as error:
        # Before Python 3.13 pathlib raises a RuntimeError for links that lead in a circle.
        if isinstance(error, RuntimeError) and not str(error).startswith("Symlink loop"):
            raise
        message = error.format_message() if isinstance(error, click.ClickException) else error
        click.echo(f"{name}: {message}", err=True)
        return 2
    except click.Abort:
        return 130
    return int(status or 0)


def printable(text: str) -> str:
    """A text of a program as a terminal may show it: what is not printable stands there as its escape."""
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)


class _ReportPath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path to which a report can go before anything is done."""
        path = Path(value)
        source = ".py" in (path.suffix, path.resolve().suffix)
        if source or not path.absolute().parent.is_dir():
            what = "is Python source" if source else "there is no such folder"
            self.fail(f"{path}: can't be written: {what}; name another file", param, ctx)
        return path


output_option = click.option(
    "-o", "--output", metavar="FILE", type=_ReportPath(), help="Write the report to a file."
)


def put(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output where none is named.

    Raises:
        OutputError: if it can't be written in full.
    """
    try:
        if output is not None:
            output.write_text(text, encoding="utf-8", newline="")
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
    except OSError as error:
        if output is None:
            _give_up_stdout()
        name = output if output is not None else "standard output"
        raise OutputError(f"{name}: can't be written: {error.strerror}") from None


def _give_up_stdout() -> None:
    """Keep the interpreter from trying again, and failing, when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
