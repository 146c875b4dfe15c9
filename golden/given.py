"""A program that is given on the command line, behind ``--``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from golden.record.program import run_of
from golden.record.run import Run
from golden.trace.errors import UnusableInput

_KEY = "golden.program"
_DASHES = "--"


class ProgramCommand(click.Command):
    """A command that takes a program behind ``--`` instead of the names of runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if _DASHES in args:
            at = args.index(_DASHES)
            ctx.meta[_KEY] = tuple(args[at + 1 :])
            args = args[:at]
            if not ctx.meta[_KEY]:
                raise click.UsageError("no command after --; for example: -- python train.py", ctx)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


def given(*, root: Path | None, data: Path | None, names: tuple[str, ...] = ()) -> tuple[Run, Path] | None:
    """Return the program behind ``--`` as a run, and its folder; None without one. Raises `UnusableInput`."""
    program = click.get_current_context().meta.get(_KEY)
    if program is None:
        return None
    if names:
        raise UnusableInput(f"give either the name of a run ({names[0]}) or a command after --, not both")
    place = root or Path.cwd()
    return run_of(program, root=place, data=data), place


def keep_line(data: Path | None) -> str:
    """Say how to keep the program as a run file."""
    options = f" --data {shlex.quote(str(data))}" if data else ""
    program = shlex.join(click.get_current_context().meta[_KEY])
    return f"keep it as a run file: golden init NAME{options} -- {program}"
