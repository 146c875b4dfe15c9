"""What the command line says about jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from golden.trace.errors import UnusableInput

Name = Literal["slurm", "local"]
_LOCAL = ("timeout_min", "signal_delay_s")


@dataclass(frozen=True, slots=True)
class Executor:
    """Who runs jobs, how many at a time (None: all that the scheduler starts), with which parameters."""

    name: Name
    folder: Path
    at_a_time: int | None
    parameters: dict[str, int | float | str]


def executor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options ``executor`` and ``parameters``."""
    parameters = click.option(
        "--parameter",
        "parameters",
        metavar="KEY=VALUE",
        multiple=True,
        help="Of the jobs, for submitit: slurm_partition=gpu, mem_gb=16, timeout_min=60.",
    )
    executor = click.option(
        "--executor",
        type=click.Choice(["slurm", "local"]),
        help="Run each run as a job, through submitit; needs -o, in a folder that all nodes see.",
    )
    return executor(parameters(command))


def settings(
    name: Name | None,
    parameters: tuple[str, ...],
    *,
    out: Path | None,
    at_a_time: int | None,
) -> Executor | None:
    """What was asked for; None for no jobs. Raises `UnusableInput`."""
    if name is None:
        if parameters:
            raise UnusableInput("--parameter is for jobs: say --executor slurm or --executor local, too")
        return None
    if out is None:
        raise UnusableInput(
            f"--executor {name} needs -o DIR: a folder that all nodes see, for logs and results"
        )
    return Executor(
        name=name,
        folder=out.absolute(),
        at_a_time=at_a_time or (1 if name == "local" else None),
        parameters=_known(name, dict(map(_pair, parameters))),
    )


def _known(name: Name, parameters: dict[str, int | float | str]) -> dict[str, int | float | str]:
    # submitit's local executor takes no notice of a key that it doesn't know.
    unknown = [key for key in parameters if name == "local" and key not in _LOCAL]
    if unknown:
        raise UnusableInput(f"--parameter {unknown[0]}: --executor local takes {' and '.join(_LOCAL)}")
    return parameters


def _pair(text: str) -> tuple[str, int | float | str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UnusableInput(f"--parameter {text}: say KEY=VALUE, such as slurm_partition=gpu")
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            pass
    return key, value


def given(**options: object) -> list[str]:
    """Options of the command line as a job is told them, folders by their absolute names."""
    found = []
    for key, value in options.items():
        name = f"--{key.replace('_', '-')}"
        if value is True:
            found.append(name)
        elif value is not None and value is not False:
            found.append(f"{name}={value.absolute() if isinstance(value, Path) else value}")
    return found
