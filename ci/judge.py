"""One run of the gate: which checks, what came of them, and where it is told."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console

from ci.base import Base, prefix_of
from ci.checks import Check, Context, checks, needing_base
from ci.config import ConfigError, GateConfig, find_gate, has_gate, load_config
from ci.execute import execute
from ci.git import git
from ci.report import Told, as_junit, as_markdown, as_sarif, as_table
from ci.report.words import headline
from ci.verdicts import Passed
from golden.check.fixtures import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of ``golden-gate run``."""

    base: str | None
    accept: tuple[str, ...]
    only: tuple[str, ...]
    skip: tuple[str, ...]
    jobs: int | None
    out: Path | None
    root: Path | None


def judge(asked: Asked) -> int:
    """Make the checks that are asked for, and tell what came of them; the exit status."""
    if asked.accept and asked.base is None:
        raise ConfigError("--accept NAME needs --base REF: without a base nothing is loosened")
    folder = (asked.root or _nearest(Path.cwd(), asked.base)).resolve()
    with _context(folder, asked) as context:
        chosen = _chosen(context, asked)
        outcomes = execute(
            chosen,
            jobs=asked.jobs or os.cpu_count() or 1,
            notify=lambda name: click.echo(f"gate: {name}", err=True),
        )
        told = Told(
            tuple(outcomes),
            left_out=tuple(needing_base(context)),
            compared=context.base.told() if context.base else "",
            evidence=asked.out,
            prefix=prefix_of(folder),
        )
    _show(told)
    if asked.out is not None:
        write_whole(asked.out / "gate.md", as_markdown(told))
        write_whole(asked.out / "gate.sarif", as_sarif(told, version=version("esper-harness")))
        write_whole(asked.out / "gate.xml", as_junit(told))
    return 0 if all(isinstance(outcome.verdict, Passed) for outcome in outcomes) else 1


def _nearest(start: Path, base: str | None) -> Path:
    """The nearest folder upwards with a gate here or at the base, whose gate no change takes away."""
    here = find_gate(start)
    upwards = [start, *start.parents]
    closer = upwards[: upwards.index(here)] if base is not None else []
    marked = (folder for folder in closer if "[tool.gate" in git(folder, "show", f"{base}:./pyproject.toml"))
    return next(marked, here)


@contextlib.contextmanager
def _context(root: Path, asked: Asked) -> Iterator[Context]:
    # A change that takes the whole table away is judged like any other that weakens it.
    config = GateConfig() if asked.base is not None and not has_gate(root) else load_config(root)
    with contextlib.ExitStack() as stack:
        if asked.out is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-")))
        else:
            scratch = _new_folder(asked.out)
        base = Base(asked.base, root, stack) if asked.base is not None else None
        yield Context(
            config,
            root,
            scratch,
            base,
            kept=asked.out is not None,
            accepted=asked.accept,
        )


def _new_folder(out: Path) -> Path:
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"--output {out} is there already and not empty; name another folder or remove it")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--output {out}: can't be made: {error.strerror}") from None
    return out.resolve()


def _chosen(context: Context, asked: Asked) -> list[Check]:
    every = checks(context)
    chosen = [
        check
        for check in every
        if (not asked.only or any(part in check.name for part in asked.only))
        and not any(part in check.name for part in asked.skip)
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


def _show(told: Told) -> None:
    width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 160
    console = Console(highlight=False, width=width)
    console.print(as_table(told.outcomes))
    for line in told.notes():
        console.print(line, markup=False)
    console.print(headline(told.outcomes), markup=False)
