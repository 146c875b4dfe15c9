"""The commands: a thin shell over functions that return values."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from esper_harness.report.plain import visible
from golden.check import (
    Failed,
    Judged,
    Property,
    Verdict,
    doctor,
    refuse_under_ci,
    unused,
    update,
    verify,
)
from golden.check.fixtures import check_writable, write_whole
from golden.check.notes import notes
from golden.check.progress import progress
from golden.check.results import Result, Results, write_results
from golden.check.shard import parse_shard, read_durations, shard
from golden.check.since import Since, between, of_working_tree
from golden.check.suggest import suggest_env
from golden.check.unstable import ways_out
from golden.compare import Compared, compare
from golden.compare.outcome import Different, NotComparable
from golden.given import ProgramCommand, given, keep_line
from golden.reach.evidence import Evidence
from golden.reach.reached import Reached, read_reached
from golden.reach.tell import tell
from golden.record import Run, find_root, find_run, find_runs, record_run
from golden.record.git import uncommitted, worktree
from golden.record.program import renamed, write_run_file
from golden.report import render, render_reads, render_verdict
from golden.report.command import report_command
from golden.report.pairs import trace_pairs
from golden.report.text import gaps, many
from golden.trace.errors import ExitCode, NothingComparable, UnusableInput, worst
from golden.trace.reads import as_table, by_site
from golden.trace.trace import Trace, load_trace
from golden.versions import Versions, compare_run, text_of, told

_root = click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tree under test; by default the nearest folder upwards with golden/runs.",
)
_data = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="A data folder for runs with a [data] table; with a command, one that it reads and git ignores.",
)
_workers = click.option(
    "-n",
    "--jobs",
    "workers",
    type=click.IntRange(min=1),
    help="How many programs run at a time; 1 by default.",
)
_device = click.option(
    "--device",
    metavar="DEVICE",
    help="Run on cpu, cuda, cuda:N or simulated instead; for runs whose command has {device}.",
)
_shard = click.option(
    "--shard", "part", metavar="I/N", help="Only the runs of shard I of N, split by measured duration."
)
_reach = click.option(
    "--diff-coverage/--no-diff-coverage",
    "reach",
    default=True,
    help="With --base, say which changed lines of Python the runs executed (the default).",
)
_evidence = click.option(
    "--evidence", type=click.Path(path_type=Path), metavar="FILE", help="With --base, those lines as JSON."
)
_out = click.option("-o", "--out", type=click.Path(path_type=Path), help="Keep the traces in this folder.")


@click.command("list")
@_root
def list_command(root: Path | None) -> int:
    """The runs of this repository, and what each costs."""
    root = root or find_root(Path.cwd())
    runs = find_runs((), root)
    table = Table(box=None)
    for column in ("run", "profile", "device", "budget", "what"):
        table.add_column(column)
    for run in runs:
        table.add_row(run.name, run.profile, run.device, f"{run.budget:g} s", Text(visible(run.description)))
    Console().print(table)
    Console().print(f"{len(runs)} runs, {sum(run.budget for run in runs):g} s on two CPU cores")
    return ExitCode.IDENTICAL


@click.command(cls=ProgramCommand)
@click.argument("names", nargs=-1, metavar="[RUN...]")
@_root
@_data
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="The trace goes to OUT/RUN; that of a command to OUT.",
)
@click.option("--dense", metavar="A:B", help="Keep every tensor of optimizer steps A to B-1.")
@click.option("--update", "renew", is_flag=True, help="Renew the goldens of these runs for this machine.")
def record(
    names: tuple[str, ...],
    root: Path | None,
    data: Path | None,
    out: Path | None,
    dense: str | None,
    renew: bool,
) -> int:
    """Run and keep the trace, or renew the golden.

    With a command after --, run that: golden record -o before -- python train.py --steps 20
    """
    program = given(root=root, data=data, names=names)
    if program is not None:
        return _record_program(*program, data=data, out=out, dense=dense, renew=renew)
    if not names:
        raise UnusableInput("name a run, or give a command: golden record -o DIR -- python train.py")
    root = root or find_root(Path.cwd())
    runs = [find_run(name, root) for name in names]
    if renew:
        refuse_under_ci()
        if data or dense:
            raise UnusableInput("--update records a run as it stands: leave out --data and --dense")
        return _update(runs, root, out)
    if out is None:
        raise UnusableInput("say where the trace goes with -o OUT, or renew the golden with --update")
    steps = _range(dense) if dense else None
    for run in runs:
        _notify(f"{run.name}: running")
        folder = out / run.name
        trace = record_run(
            run, root=root, out=folder, data=run.data_folder(data), dense=steps, label=run.name
        )
        click.echo(_recorded(run, trace))
    return ExitCode.IDENTICAL


def _recorded(run: Run, trace: Trace) -> str:
    steps = sum(len(p.steps) for p in trace.processes)
    amounts = f"{many(len(trace.events), 'event')}, {many(steps, 'optimizer step')}"
    return f"{run.name}: {amounts} -> {trace.folder}"


def _record_program(
    run: Run, root: Path, *, data: Path | None, out: Path | None, dense: str | None, renew: bool
) -> int:
    if renew:
        raise UnusableInput(
            "a command has no golden; make a run file of it with `golden init NAME -- COMMAND`"
        )
    if out is None:
        raise UnusableInput("say where the trace goes with -o DIR")
    _notify(f"{run.name}: running")
    steps = _range(dense) if dense else None
    trace = record_run(run, root=root, out=out, data=_folder(run, data), dense=steps, label=str(out))
    click.echo(_recorded(run, trace))
    for line in gaps(Compared(unwatched=tuple(trace.about.unwatched))):
        click.echo(line)
    click.echo(f"compare it with another one: golden diff {out} OTHER")
    click.echo(keep_line(data))
    return ExitCode.IDENTICAL


def _folder(run: Run, data: Path | None) -> Path | None:
    """The data folder that the command of a program names, if it names one."""
    return data if run.data is not None and not run.data.paths else None


@click.command("init", cls=ProgramCommand)
@click.argument("name")
@_root
@_data
def init_command(name: str, root: Path | None, data: Path | None) -> int:
    """Keep a command as a run file: golden init NAME -- python train.py --steps 20"""
    program = given(root=root, data=data)
    if program is None:
        raise UnusableInput("give the command after --: golden init NAME -- python train.py --steps 20")
    run, place = program
    path = write_run_file(renamed(run, name), place)
    click.echo(f"{path}: written; compare two versions: golden ab {name} --base REF")
    click.echo(f"keep its golden: golden record {name} --update")
    return ExitCode.IDENTICAL


def _update(runs: list[Run], root: Path, out: Path | None) -> int:
    codes = []
    with _kept(out) as folder:
        for run in runs:
            found = update(run, root=root, out=folder / run.name, notify=_notify)
            codes.append(int(found.code))
            if isinstance(found, Failed):
                click.echo(f"golden: {found.message}", err=True)
                continue
            for path, change in found.changes:
                click.echo(f"{change:9} {path.relative_to(root)}")
    for path in unused(root):
        click.echo(f"unused    {path.relative_to(root)} (no run file; remove it by hand)")
    return worst(codes)


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[RUN...]")
@_root
@click.option("--base", metavar="REF", help="Say which lines that changed since REF the runs executed.")
@_evidence
@_workers
@_shard
@_device
@_out
def verify_command(
    names: tuple[str, ...],
    root: Path | None,
    base: str | None,
    evidence: Path | None,
    workers: int | None,
    part: str | None,
    device: str | None,
    out: Path | None,
) -> int:
    """Compare runs, all by default, with their goldens, and their variants by their properties.

    With -o DIR the traces stay there, with a file of results that `golden report --merge` reads.
    """
    root = root or find_root(Path.cwd())
    _check_evidence(evidence, base=base, reach=True)
    suite = _suite(names, root, device)
    runs = _of_shard(suite, part, root)
    since = of_working_tree(root, base) if base is not None else None
    with _kept(out) as folder:
        files = since.files if since is not None else ()
        found = verify(runs, root=root, out=folder, workers=workers or 1, notify=_notify, reach=files)
        codes = [worst([verdict.code for verdict in verdicts]) for verdicts in found]
        if since is not None:
            for run, code in zip(runs, codes, strict=True):
                ran = read_reached(folder / run.name)
                since.note(run.name, code, None if ran is None else (Reached({}), ran))
    results = []
    for run, code, verdicts in zip(runs, codes, found, strict=True):
        text = "\n".join([*map(render_verdict, verdicts), *told(since, run.name)])
        click.echo(text)
        right = run.name if out and (out / run.name / "trace.json").exists() else None
        results.append(
            Result(
                run=run.name,
                code=ExitCode(code),
                text=text,
                tolerated=any(v.tolerated for v in verdicts if isinstance(v, Judged | Property)),
                seconds=sum(verdict.seconds for verdict in verdicts),
                budget=run.budget,
                right=right,
                not_compared=tuple(line for verdict in verdicts for line in _left_out(verdict)),
            )
        )
    return _finish("verify", suite, part, results, out, _tell_all(since, evidence))


def _left_out(verdict: Verdict) -> list[str]:
    """The lines of a verdict that name what was not compared."""
    found = verdict.comparison if isinstance(verdict, Judged) else None
    return [] if found is None or isinstance(found, NotComparable) else gaps(found.compared)


def _check_evidence(evidence: Path | None, *, base: str | None, reach: bool) -> None:
    if evidence is not None and (base is None or not reach):
        raise UnusableInput("--evidence FILE needs --base REF, and not --no-diff-coverage")
    if evidence is not None:
        check_writable(evidence)


def _tell_all(since: Since | None, file: Path | None) -> Evidence | None:
    """Print what several runs reached together, and write it for other tools."""
    if since is None:
        return None
    found = since.evidence()
    if since.files and len(found.runs) > 1:
        click.echo("\n".join(tell(found)))
    if file is not None:
        write_whole(file, found.model_dump_json(indent=1) + "\n")
    return found


def _suite(names: tuple[str, ...], root: Path, device: str | None) -> list[Run]:
    """The runs that are named, or all; on another device, all that can go there."""
    runs = find_runs(names, root)
    if device is None:
        return runs
    staying = [run.name for run in runs if not run.moves]
    if staying and not names:
        _notify(f"left out, since their command has no {{device}}: {', '.join(staying)}")
        runs = [run for run in runs if run.moves]
        if not runs:
            raise NothingComparable(f"no run has {{device}} in its command, so none can go to {device}")
    return [run.on(device) for run in runs]


def _of_shard(suite: list[Run], part: str | None, root: Path) -> list[Run]:
    return shard(suite, *parse_shard(part), read_durations(root)) if part else suite


def _finish(
    command: str,
    suite: list[Run],
    part: str | None,
    results: list[Result],
    out: Path | None,
    reached: Evidence | None,
) -> int:
    """Print planned against spent, keep the results where the traces are, and give the exit status."""
    planned, spent = sum(r.budget for r in results), sum(r.seconds for r in results)
    click.echo(f"{len(results)} runs: {planned:.0f} s planned, {spent:.1f} s spent")
    if out is not None:
        names = tuple(run.name for run in suite)
        index = parse_shard(part) if part else (1, 1)
        found = Results(command=command, shard=index, suite=names, results=tuple(results), evidence=reached)
        write_results(out, found)
    return worst([int(result.code) for result in results])


def _range(text: str) -> range:
    first, _, last = text.partition(":")
    with contextlib.suppress(ValueError):
        found = range(int(first), int(last) if last else int(first) + 1)
        if found and found.start >= 0:
            return found
    raise UnusableInput(f"--dense {text}: give a step or a range of steps, such as 14 or 10:20")


@click.command("doctor", cls=ProgramCommand)
@click.argument("name", metavar="[RUN]", required=False)
@_root
@_data
@_out
@click.option("--suggest", is_flag=True, help="Run it once, and print the [env] table that seems to fit.")
def doctor_command(
    name: str | None, root: Path | None, data: Path | None, out: Path | None, suggest: bool
) -> int:
    """Run it twice: is it deterministic at all, and if not, what differs first?

    With a command after --, that is run: golden doctor -- python train.py --steps 20
    """
    program = given(root=root, data=data, names=(name,) if name else ())
    if program is not None:
        run, root = program
        folder_of_data = _folder(run, data)
    elif name is None:
        raise UnusableInput("name a run, or give a command: golden doctor -- python train.py")
    else:
        root = root or find_root(Path.cwd())
        run = find_run(name, root)
        folder_of_data = run.data_folder(data)
    with _kept(out) as folder:
        if suggest:
            _notify(f"{run.name}: running")
            trace = record_run(run, root=root, out=folder / "run", data=folder_of_data)
            table = suggest_env(trace) or ["# nothing in its events or models looks like an env"]
            click.echo("\n".join(map(visible, table)))
            return ExitCode.IDENTICAL
        result = doctor(run, root=root, out=folder, data=folder_of_data, notify=_notify)
        for note in notes(result.left):
            click.echo(f"note: {note}", err=True)
        click.echo(text_of(result))
        for line in ways_out(result.comparison) if isinstance(result.comparison, Different) else ():
            click.echo(f"note: if that can't repeat, as times and ids: {visible(line)}", err=True)
        if program is not None:
            click.echo(keep_line(data))
        return int(result.comparison.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AbAsked:
    """The options of `golden ab`."""

    names: tuple[str, ...]
    root: Path | None
    base: str | None
    head: str | None
    closely: bool
    reach: bool
    evidence: Path | None
    data: Path | None
    workers: int | None
    part: str | None
    device: str | None
    out: Path | None


@click.command("ab", cls=ProgramCommand)
@click.argument("names", nargs=-1, metavar="[RUN...]")
@_root
@click.option(
    "--base", metavar="REF", help="The git ref to compare with; by default the run's own variant `base`."
)
@click.option("--head", metavar="REF", help="The git ref under test; by default the working tree.")
@click.option(
    "--localize",
    "closely",
    is_flag=True,
    help="On a difference, run both again, and name operation and line.",
)
@_reach
@_evidence
@_data
@_workers
@_shard
@_device
@_out
def ab_command(**options: Any) -> int:
    """Compare two versions on this machine, now: of some runs, or with --base of all.

    With a command after --, of that: golden ab --base main -- python train.py --steps 20

    With -o DIR the traces stay there, with a file of results that `golden report --merge` reads.
    """
    asked = _AbAsked(**options)
    program = given(root=asked.root, data=asked.data, names=asked.names)
    root = program[1] if program else asked.root or find_root(Path.cwd())
    base, head = asked.base, asked.head
    if head is not None and base is None:
        raise UnusableInput("--head REF needs --base REF")
    if program and asked.part:
        raise UnusableInput("--shard is for runs; make one with `golden init NAME -- COMMAND`")
    if program and base is None:
        raise UnusableInput("say which version the command is compared with: --base REF")
    _check_evidence(asked.evidence, base=base, reach=asked.reach)
    if not asked.names and not program and base is None:
        raise UnusableInput("name a run, or compare all of them with another version with --base REF")
    if program:
        suite = [program[0].on(asked.device) if asked.device else program[0]]
        data = _folder(suite[0], asked.data)
    else:
        suite, data = _suite(asked.names, root, asked.device), asked.data
    runs = _of_shard(suite, asked.part, root)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_kept(asked.out))
        base_root = stack.enter_context(worktree(root, base)) if base else root
        head_root = stack.enter_context(worktree(root, head)) if head else root
        since = between(root, base, head, base_root, head_root) if base and asked.reach else None
        versions = Versions(root, base, head, base_root, head_root, since, named=program is None)
        if base and not head and (edits := uncommitted(root)):
            _notify(f"the working tree has {edits} uncommitted changes, which are part of what is compared")
        workers = asked.workers or 1
        results = [
            compare_run(run, versions, folder, data=data, workers=workers, dense=asked.closely)
            for run in runs
        ]
    reached = _tell_all(since, asked.evidence)
    code = worst([int(result.code) for result in results])
    if len(suite) > 1 or asked.part or asked.out is not None:
        code = _finish("ab", suite, asked.part, results, asked.out, reached)
    if program:
        click.echo(keep_line(asked.data))
    return code


@click.command()
@click.argument("left", type=click.Path(path_type=Path))
@click.argument("right", type=click.Path(path_type=Path))
def diff(left: Path, right: Path) -> int:
    """Compare two traces, or two folders of traces by run."""
    codes = []
    for a, b in trace_pairs(left, right):
        x, y = load_trace(a), load_trace(b)
        found = compare(x, y)
        click.echo(render(found, left=str(a), right=str(b)))
        codes.append(int(found.code))
    return worst(codes)


@click.command("reads")
@click.argument("folder", metavar="TRACE", type=click.Path(path_type=Path))
@click.option(
    "--json", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write them, for other tools."
)
def reads_command(folder: Path, file: Path | None) -> int:
    """Where the program of a trace reads tensors to the host, and how often."""
    trace = load_trace(folder)
    click.echo(render_reads(by_site(trace)))
    if file is not None:
        write_whole(file, json.dumps(as_table(trace), indent=1) + "\n")
    return ExitCode.IDENTICAL


def _notify(message: str) -> None:
    progress.say(message)


@contextlib.contextmanager
def _kept(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        yield Path(scratch)


# All but `mutate`, which loads more than all these together.
COMMANDS: dict[str, click.Command] = {
    "list": list_command,
    "init": init_command,
    "doctor": doctor_command,
    "record": record,
    "verify": verify_command,
    "ab": ab_command,
    "diff": diff,
    "reads": reads_command,
    "report": report_command,
}
