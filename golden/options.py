"""Options that several commands share, and where their traces go."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

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
    "--shard", "part", metavar="I/N", help="Only the runs of shard I of N, split by measured duration."
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
