"""The demonstration: split the monolith by a plan, prove that no bit changed, plant a bug, find it."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import click

from codemods.api import (
    PlanError,
    Report,
    RequestError,
    SourceError,
    TargetError,
    WriteError,
    run_plan,
    write_all,
)
from golden.compare import Different, Identical, compare
from golden.record import find_run, record_run
from golden.record.workspace import copy_files, files_below
from golden.report import render
from golden.trace.errors import GoldenError
from golden.trace.trace import Trace

PLAN = Path("codemods/plans/02_modular_split.toml")
_RUN = "ppo_small"
# The gradients of the seeds are cleared after the backward pass, not before it.
_FILE = "src/esper/simic/training/batch_ops.py"
_CLEARED = """\
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
"""
_BACKWARD = """\
        backward(loss, optimizers, env_state.scaler)
"""


def demonstrate(repository: Path, scratch: Path) -> bool:
    """Run all of it in the folder ``scratch``; return whether both verdicts are as they should be.

    Raises `GoldenError`, or what a plan that can't be carried out raises.
    """
    begun, tree = time.monotonic(), scratch / "tree"
    _say(f"extract by {PLAN.name}")
    report = derive(repository, PLAN, tree)
    run = find_run(_RUN, tree)

    def record(what: str, *, base: bool = False) -> Trace:
        _say(f"run {what}")
        chosen = run.variant("base") if base else run
        return record_run(chosen, root=tree, out=scratch / what.replace(" ", "-"), label=what)

    traces = [record("the monolith", base=True), record("the extracted trainer")]
    plant(tree)
    traces.append(record("the trainer with the bug"))
    extracted, planted = (compare(traces[0], trace) for trace in traces[1:])
    lifted = [helper for helper in report.helpers if helper.status == "lifted"]
    click.echo(f"\n{len(lifted)} helpers lifted")
    for helper in lifted:
        click.echo(f"  {helper.name}, {len(helper.captures)} captures: {Path(helper.target or '').name}")
    click.echo(
        "\nafter the extraction\n" + render(extracted, left="the monolith", right=traces[1].about.label)
    )
    click.echo(f"\nafter a swap in {_FILE}: gradients are cleared after the backward pass")
    click.echo(render(planted, left="the monolith", right=traces[2].about.label))
    click.echo(f"\n{time.monotonic() - begun:.0f} s")
    return isinstance(extracted, Identical) and isinstance(planted, Different)


def derive(repository: Path, plan: Path, tree: Path) -> Report:
    """Copy a repository, with what a plan makes of its frozen source in place of what became of that since.

    Raises what a plan that can't be carried out raises.
    """
    report = run_plan(repository / plan, repository, afresh=True)
    if report.refused:
        raise PlanError(f"{report.refused[0].name} is refused")
    copy_files(files_below(repository), repository, tree)
    write_all({tree / path.relative_to(repository): data for path, data in report.in_order().items()})
    return report


def plant(tree: Path) -> None:
    """Clear the gradients behind the backward pass in a tree."""
    path = tree / _FILE
    head, cleared, rest = path.read_text(encoding="utf-8").partition(_CLEARED)
    between, backward, tail = rest.partition(_BACKWARD)
    if not (cleared and backward):
        raise PlanError(f"{_FILE}: the lines to swap are not there")
    path.write_text(head + between + backward + cleared + tail, encoding="utf-8")


def _say(step: str) -> None:
    click.echo(f"demo: {step}", err=True)


def main() -> int:
    """Run the demonstration; the exit status is 0 if both verdicts are as they should be."""
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        try:
            return 0 if demonstrate(Path(__file__).resolve().parents[1], Path(folder)) else 1
        except (PlanError, RequestError, SourceError, TargetError, WriteError, GoldenError) as error:
            _say(str(error))
            return 2


if __name__ == "__main__":
    sys.exit(main())
