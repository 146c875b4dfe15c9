"""Where a command's text goes: a file, or standard output; either may be full."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import click


class OutputError(click.ClickException):
    """A report that can't be written."""

    exit_code = 2


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
