"""The runs that a command is given: by name, or as a program behind ``--``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from golden.record import Run, find_root, find_run
from golden.record.program import run_of
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


@dataclass(frozen=True, slots=True)
class Given:
    """The runs of one command, their tree, and the data folder that they are handed.

    With ``is_program``, the only run is the program behind ``--``.
    """

    runs: list[Run]
    root: Path
    data: Path | None
    is_program: bool


def given(names: Sequence[str], *, root: Path | None, data: Path | None = None) -> Given:
    """Return the program behind ``--`` as a run, else the runs that are named. Raises `UnusableInput`."""
    program = click.get_current_context().meta.get(_KEY)
    if program is None:
        place = root or find_root(Path.cwd())
        return Given([find_run(name, place) for name in names], place, data, is_program=False)
    if names:
        raise UnusableInput(f"give either the name of a run ({names[0]}) or a command after --, not both")
    place = root or Path.cwd()
    run = run_of(program, root=place, data=data)
    # What it reads in the tree is linked there instead of being handed over.
    handed = data if run.data is not None and not run.data.paths else None
    return Given([run], place, handed, is_program=True)


def keep_line(data: Path | None) -> str:
    """Say how to keep the program as a run file."""
    options = f" --data {shlex.quote(str(data))}" if data else ""
    program = shlex.join(click.get_current_context().meta[_KEY])
    return f"keep it as a run file: golden init NAME{options} -- {program}"
