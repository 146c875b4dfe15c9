"""What several commands share: options, the runs that they are given, and where their traces go."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from golden.record import Run, find_root, find_run
from golden.record.program import run_of
from golden.trace.errors import UnusableInput

_KEY = "golden.program"
_DASHES = "--"

root_option = click.option(
    "--root", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True
)
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="A data folder for runs with a [data] table; with a command, what it reads that git does not keep.",
)
workers_option = click.option(
    "-n",
    "--jobs",
    "workers",
    type=click.IntRange(min=1),
    help="How many programs run at a time; 1 by default.",
)
device_option = click.option(
    "--device",
    metavar="DEVICE",
    help="Run on cpu, cuda, cuda:N or simulated instead; for runs whose command has {device}.",
)
shard_option = click.option(
    "--shard", "part", metavar="I/N", help="Only the runs of shard I of N, split by budget."
)
out_option = click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path), help="Keep the traces in this folder."
)


@contextlib.contextmanager
def kept(out: Path | None) -> Iterator[Path]:
    """Give a folder for traces: the one that the user names, or one that is gone at the end."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        yield Path(scratch)


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
