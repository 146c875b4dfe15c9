"""The commands: a thin shell over functions that return values."""

from __future__ import annotations

from pathlib import Path

import click

from esper_harness.report.plain import columns, many, visible
from golden.check.ab import doctor
from golden.check.advice import notes
from golden.check.progress import progress
from golden.check.verify import Failed, refuse_under_ci, update
from golden.compare import Compared, Different, compare
from golden.options import ProgramCommand, data_option, given, keep_line, kept, out_option, root_option
from golden.record import Run, find_root, find_runs, record_run
from golden.record.program import renamed, write_run_file
from golden.report import render
from golden.report.build import trace_pairs
from golden.report.text import gaps
from golden.trace.errors import ExitCode, UnusableInput, worst
from golden.trace.trace import load_trace
from golden.versions import text_of


@click.command("list")
@root_option
def list_command(root: Path | None) -> int:
    """The runs of this repository, and what each costs."""
    root = root or find_root(Path.cwd())
    runs = find_runs((), root)
    rows = [("run", "profile", "device", "budget", "what")]
    rows += [(r.name, r.profile, r.device, f"{r.budget:g} s", visible(r.description)) for r in runs]
    click.echo("\n".join(columns(rows)))
    click.echo(f"{len(runs)} runs, {sum(run.budget for run in runs):g} s on two CPU cores")
    return ExitCode.IDENTICAL


@click.command("record", cls=ProgramCommand)
@click.argument("names", nargs=-1, metavar="[RUN...]")
@root_option
@data_option
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(path_type=Path),
    help="The trace goes to OUT/RUN; that of a command to OUT.",
)
@click.option("--update", "renew", is_flag=True, help="Renew the goldens of these runs for this machine.")
def record_command(
    names: tuple[str, ...],
    root: Path | None,
    data: Path | None,
    out: Path | None,
    renew: bool,
) -> int:
    """Run and keep the trace, or renew the golden.

    With a command after --, run that: golden record -o before -- python train.py --steps 20
    """
    asked = given(names, root=root, data=data)
    if not asked.runs:
        raise UnusableInput("name a run, or give a command: golden record -o DIR -- python train.py")
    if renew:
        if asked.is_program:
            raise UnusableInput(
                "a command has no golden; make a run file of it with `golden init NAME -- COMMAND`"
            )
        refuse_under_ci()
        if data:
            raise UnusableInput("--update records a run as it stands: leave out --data")
        return _update(asked.runs, asked.root, out)
    if out is None:
        raise UnusableInput("say where the trace goes with -o DIR, or renew a golden with --update")
    for run in asked.runs:
        progress.say(f"{run.name}: running")
        folder, label = (out, str(out)) if asked.is_program else (out / run.name, run.name)
        data_folder = run.data_folder(asked.data)
        trace = record_run(run, root=asked.root, out=folder, data=data_folder, label=label)
        steps = sum(len(p.steps) for p in trace.processes)
        amounts = f"{many(len(trace.events), 'event')}, {many(steps, 'optimizer step')}"
        click.echo(f"{run.name}: {amounts} -> {trace.folder}")
        if asked.is_program:
            for line in gaps(Compared(unwatched=tuple(trace.about.unwatched))):
                click.echo(line)
            click.echo(f"compare it with another one: golden diff {out} OTHER")
            click.echo(keep_line(data))
    return ExitCode.IDENTICAL


@click.command("init", cls=ProgramCommand)
@click.argument("name")
@root_option
@data_option
def init_command(name: str, root: Path | None, data: Path | None) -> int:
    """Keep a command as a run file: golden init NAME -- python train.py --steps 20"""
    asked = given((), root=root, data=data)
    if not asked.is_program:
        raise UnusableInput("give the command after --: golden init NAME -- python train.py --steps 20")
    path = write_run_file(renamed(asked.runs[0], name), asked.root)
    click.echo(f"{path}: written; compare two versions: golden ab {name} --base REF")
    click.echo(f"keep its golden: golden record {name} --update")
    return ExitCode.IDENTICAL


def _update(runs: list[Run], root: Path, out: Path | None) -> int:
    codes = []
    with kept(out) as folder:
        for run in runs:
            found = update(run, root=root, out=folder / run.name)
            if isinstance(found, Failed):
                codes.append(int(found.code))
                click.echo(f"golden: {found.message}", err=True)
                continue
            for path, change in found:
                click.echo(f"{change:9} {path.relative_to(root)}")
    return worst(codes)


_LEAVE_OUT = (
    "note: [outputs] unstable and mask, [events] unstable and [observe] unstable_values in a run file leave "
    "out what can't repeat"
)


@click.command("doctor", cls=ProgramCommand)
@click.argument("name", metavar="[RUN]", required=False)
@root_option
@data_option
@out_option
def doctor_command(name: str | None, root: Path | None, data: Path | None, out: Path | None) -> int:
    """Run it twice: is it deterministic at all, and if not, what differs first?

    With a command after --, that is run: golden doctor -- python train.py --steps 20
    """
    asked = given((name,) if name else (), root=root, data=data)
    if not asked.runs:
        raise UnusableInput("name a run, or give a command: golden doctor -- python train.py")
    (run,) = asked.runs
    with kept(out) as folder:
        data_folder = run.data_folder(asked.data)
        result = doctor(run, root=asked.root, out=folder, data=data_folder)
        for note in notes(result.left):
            click.echo(f"note: {note}", err=True)
        click.echo(text_of(result))
        if isinstance(result.comparison, Different):
            click.echo(_LEAVE_OUT, err=True)
        if asked.is_program:
            click.echo(keep_line(data))
        return int(result.comparison.code)


@click.command("diff")
@click.argument("left", metavar="A", type=click.Path(path_type=Path))
@click.argument("right", metavar="B", type=click.Path(path_type=Path))
def diff_command(left: Path, right: Path) -> int:
    """Compare two traces, or two folders of traces by run."""
    codes = []
    for a, b in trace_pairs(left, right):
        x, y = load_trace(a), load_trace(b)
        found = compare(x, y)
        click.echo(render(found, left=str(a), right=str(b)))
        codes.append(int(found.code))
    return worst(codes)
