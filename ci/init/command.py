"""The command: look, propose, try, write, record, and say what comes next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ci.config import ConfigError, has_gate
from ci.init import ignored
from ci.init.collected import uncollected
from ci.init.entry_points import EntryPoint, find_entry_points, names_in, read_entry_point, unreadable
from ci.init.hot_loops import BASELINE, baseline_text, hot_report, loops
from ci.init.outside import anchored
from ci.init.propose import Facts, Proposal, gate_table, read_facts, run_file, source_paths
from ci.init.sightings import Sightings
from ci.init.trial import Tried, try_run
from codemods.hotpath.results import Report
from codemods.hotpath.text import looked_at
from codemods.plans import WriteError, write_all
from codemods.program import SourceError, python_files
from golden.check.fixtures import FOLDER
from golden.record.files import RUNS_FOLDER

_PROJECT = Path("pyproject.toml")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The repository; by default the nearest folder upwards with a pyproject.toml or of git.",
)
@click.option(
    "--entry", metavar="FILE", help="The script that starts a training, where none or the wrong one is found."
)
@click.option(
    "--args", "more", default="", metavar="TEXT", help='More of its command line, such as "--data DIR".'
)
@click.option(
    "--try-seconds",
    default=120.0,
    type=click.FloatRange(min=1),
    help="How many seconds a run is tried at most; 120 by default.",
)
@click.option("--no-try", is_flag=True, help="Write without running the script, and record no golden.")
@click.option("--dry-run", is_flag=True, help="Show what would be written; run and write nothing.")
def command(
    root: Path | None,
    entry: str | None,
    more: str,
    try_seconds: float,
    no_try: bool,
    dry_run: bool,
) -> int:
    """Write a commented [tool.gate], one golden run that works, its golden and a hot-path baseline.

    Exit status: 0 written, 1 the run does not work: nothing is written, 2 unusable input.
    """
    root = (root or _top(Path.cwd())).resolve()
    if has_gate(root):
        raise ConfigError(f"{root / _PROJECT} has a [tool.gate] table already; change it by hand")
    chosen, others = _choose(root, entry)
    also = f" (also: {', '.join(o.path for o in others)}; choose with --entry FILE)" if others else ""
    click.echo(f"entry point: {chosen.path}{also}")
    given, outside = anchored(shlex.split(more), root)
    for word in outside:
        click.echo(f"{word} is outside of the repository: written as an absolute path")
    # Where nothing is tried, what begins a group of processes is taken to need a launcher.
    proposal = Proposal(chosen, given, launched=chosen.distributed and (no_try or dry_run))
    missing = [name for name in proposal.arguments.missing if name not in more]
    if missing:
        raise ConfigError(
            f"{chosen.path} needs {', '.join(missing)}, which nobody can guess; give it with "
            f'--args "{missing[0]} VALUE"'
        )
    _notify(f"looking for stalls in hot loops of {', '.join(source_paths(root))}")
    report = hot_report(root, source_paths(root))
    data = ignored.needed(root, chosen.words | names_in(given))
    facts = read_facts(root, *loops(report, chosen.files), BASELINE)
    click.echo(f"stalls: {len(report.findings)} in {looked_at(report)}")
    for loop in facts.found:
        click.echo(f"  {loop}")
    tried = Tried(proposal, (), Sightings(), 0.0, None)
    ours = [RUNS_FOLDER / f"{chosen.name}.toml", FOLDER / chosen.name]
    made = [Path(BASELINE)] if facts.found else []
    _refuse_existing(root, [*ours, *made])
    if not (no_try or dry_run):
        tried = _tried(proposal, root, try_seconds)
        if tried.failure is not None:
            click.echo(f"the run does not work: {tried.failure}")
            click.echo(
                "nothing is written: give --args TEXT or --entry FILE, or write the files with --no-try"
            )
            return 1
        facts = _with_tests(facts, root, try_seconds)
    files = _files(root, tried, facts, report, data)
    if dry_run:
        _show(root, files)
        return 0
    write_all({root / path: text.encode() for path, text in files.items()})
    for path in files:
        click.echo(f"wrote {path}")
    return _finish(root, chosen.name, files, ran=not no_try)


def _tried(proposal: Proposal, root: Path, seconds: float) -> Tried:
    before = ignored.untracked(root)
    tried = try_run(proposal, root=root, seconds=seconds, notify=_notify)
    left = sorted(ignored.untracked(root) - before)
    if left:
        click.echo(f"it leaves {', '.join(left)} in the repository: now in .gitignore")
        (root / ".gitignore").write_text(ignored.ignore(root, left), encoding="utf-8")
    if tried.failure is None:
        tried = replace(tried, proposal=replace(tried.proposal, budget=tried.seconds))
        click.echo(f"it runs: {tried.seconds:.0f} s")
    if tried.seen.events:
        click.echo(f"events: {tried.seen.events}, kinds by their field {tried.seen.type}")
    for file in tried.seen.files:
        click.echo(f"also compared: {file}")
    if not tried.proposal.seeded:
        click.echo("no option for a seed was seen; golden seeds Python, numpy and torch before it starts")
    return tried


def _with_tests(facts: Facts, root: Path, seconds: float) -> Facts:
    """The same with what came of collecting the tests."""
    if facts.tests is None:
        return facts
    _notify(f"collecting the tests in {facts.tests}")
    reason = uncollected(root, facts.tests, seconds=seconds)
    said = "part of the gate" if reason is None else f"left out, for pytest collects none: {reason}"
    click.echo(f"tests in {facts.tests}: {said}")
    return replace(facts, uncollected=reason)


def _files(root: Path, tried: Tried, facts: Facts, report: Report, data: Sequence[str]) -> dict[Path, str]:
    entry = tried.proposal.entry
    run = run_file(tried.proposal, tried.seen, data)
    files = {RUNS_FOLDER / f"{entry.name}.toml": run}
    if facts.found:
        files[Path(BASELINE)] = baseline_text(report)
    before = _text(root / _PROJECT)
    table = gate_table(entry, facts, events=tried.seen.events is not None)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    files[_PROJECT] = before + gap + table
    golden = [FOLDER / entry.name / "common.json"]
    hidden = [Path(path) for path, _ in ignored.ignored(root, [*files, *golden])]
    if hidden:
        files[Path(".gitignore")] = ignored.unignore(root, hidden)
    return files


def _finish(root: Path, name: str, files: dict[Path, str], *, ran: bool) -> int:
    for path, rule in ignored.ignored(root, [p for p in files if p.name != ".gitignore"]):
        click.echo(f"git ignores {path} ({rule}): add it with `git add -f {path}`")
    failure = None
    if ran:
        from ci.init.goldens import record

        failure = record(name, root, _notify)
    if failure is not None:
        click.echo(f"no golden of it can be kept: {failure}")
        click.echo(f"change the run in {RUNS_FOLDER / name}.toml")
    rows = [(f"golden doctor {name}", "is it deterministic, and what does it compare?")]
    if failure is not None or not ran:
        rows.append((f"golden record {name} --update", "keep what it does as the golden of this machine"))
    rows.append(("git add -A && git commit", "the gate's policy and goldens belong to the repository"))
    rows.append(("golden-gate run", "every check; put it on each pull request with ci/action.yml"))
    click.echo("next:")
    for words, why in rows:
        click.echo(f"  {words:<33} {why}")
    return 0 if failure is None else 1


def _choose(root: Path, entry: str | None) -> tuple[EntryPoint, list[EntryPoint]]:
    if entry is not None:
        path = root / entry
        if not path.is_file():
            raise ConfigError(f"--entry {entry}: no such file in {root}")
        found = read_entry_point(path.resolve(), root)
        if found is None:
            raise ConfigError(f"--entry {next(unreadable([path.resolve()], root))}")
        return found, []
    entries = find_entry_points(root, _notify)
    if not entries:
        bad = "".join(f"; {reason}" for reason in unreadable(python_files(root), root))
        raise ConfigError(
            f"no script in {root} that steps an optimizer after a backward pass{bad}; "
            "name yours with --entry FILE"
        )
    alike = [found for found in entries if found.likely == entries[0].likely]
    if len(alike) > 1:
        ways = "\n".join(f"  golden-gate init --entry {found.path}" for found in alike)
        raise ConfigError(f"{len(alike)} scripts train, and nothing says which is meant; one of:\n{ways}")
    return entries[0], entries[1:]


def _refuse_existing(root: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        if (root / path).exists():
            raise ConfigError(f"{path} is there already; move it away, or write [tool.gate] by hand")


def _show(root: Path, files: dict[Path, str]) -> None:
    for path, text in files.items():
        shown = text.removeprefix(_text(root / path))
        click.echo(f"\n# {path}\n{shown}", nl=False)


def _top(start: Path) -> Path:
    folders = (start, *start.parents)
    return next((f for f in folders if (f / _PROJECT).is_file() or (f / ".git").exists()), start)


def _text(path: Path) -> str:
    return path.read_bytes().decode() if path.is_file() else ""


def _notify(message: str) -> None:
    click.echo(message, err=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors become one line and an exit status."""
    from golden.check.signals import Ended, ending_programs

    try:
        with ending_programs():
            return int(command.main(args=argv, prog_name="golden-gate init", standalone_mode=False) or 0)
    except Ended as error:
        click.echo(f"golden-gate init: interrupted ({error})", err=True)
        return error.code
    except click.ClickException as error:
        message = error.format_message()
    except (ConfigError, SourceError, WriteError) as error:
        message = str(error)
    except ValueError as error:
        message = f"--args: {error}"
    except (click.Abort, KeyboardInterrupt):
        click.echo("golden-gate init: interrupted", err=True)
        return 130
    click.echo(f"golden-gate init: {message}", err=True)
    return 2
