"""The command: look, propose, try, write, record, and say what comes next."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ci.config import ConfigError, GateConfig, has_gate
from ci.init import ignored
from ci.init.entry_points import EntryPoint, find_entry_points, names_in, read_entry_point, unreadable
from ci.init.propose import MAX_STEPS, Facts, Proposal, gate_table, read_facts, run_file, source_paths
from ci.init.trial import Tried, record, try_run
from ci.launch import launch
from codemods.api import SourceError, WriteError, python_files, write_all
from codemods.hotpath.baseline import NAME, Baseline, render_baseline
from codemods.hotpath.check import check
from codemods.hotpath.compare import update_baseline
from codemods.hotpath.config import read_config
from codemods.hotpath.results import Report
from golden.check.fixtures import FOLDER
from golden.record.files import RUNS_FOLDER

_PROJECT = Path("pyproject.toml")
_COLLECTING_S = 120.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True)
@click.option(
    "--entry", metavar="FILE", help="The script that starts a training, where none or the wrong one is found."
)
@click.option(
    "--args", "more", default="", metavar="TEXT", help='More of its command line, such as "--data DIR".'
)
@click.option("--dry-run", is_flag=True, help="Show what would be written; run and write nothing.")
def command(root: Path | None, entry: str | None, more: str, dry_run: bool) -> int:
    """Write a commented [tool.gate], one golden run that works, its golden and a hot-path baseline.

    Exit status: 0 written, 1 the run does not work: nothing is written, 2 unusable input.
    """
    root = (root or _top(Path.cwd())).resolve()
    if has_gate(root):
        raise ConfigError(f"{root / _PROJECT} has a [tool.gate] table already; change it by hand")
    chosen, others = _choose(root, entry)
    also = f" (also: {', '.join(o.path for o in others)}; choose with --entry FILE)" if others else ""
    click.echo(f"entry point: {chosen.path}{also}")
    given = _anchored(shlex.split(more), root)
    proposal = Proposal(chosen, given)
    if missing := proposal.missing:
        value = f"{missing[0]} VALUE" if missing[0].startswith("-") else missing[0].upper()
        raise ConfigError(
            f'{chosen.path} needs {", ".join(missing)}, which nobody can guess; give it with --args "{value}"'
        )
    if not proposal.arguments.shortened:
        proposal = replace(proposal, max_steps=MAX_STEPS)
    _notify(f"looking for syncs in hot loops of {', '.join(source_paths(root))}")
    report = check([root / path for path in source_paths(root)], read_config(root), root=root)
    data = ignored.needed(root, chosen.words | names_in(given))
    facts = read_facts(root, _loops(report, chosen))
    click.echo(f"syncs in hot loops: {len(report.findings)}")
    for loop in facts.loops:
        click.echo(f"  {loop}")
    made = [RUNS_FOLDER / f"{chosen.name}.toml", FOLDER / chosen.name, *([Path(NAME)] if facts.loops else [])]
    _refuse_existing(root, made)
    tried = Tried(proposal, (), None)
    if not dry_run:
        tried = _tried(proposal, root)
        if tried.failure is not None:
            click.echo(f"the run does not work: {tried.failure}")
            click.echo("nothing is written; give --args TEXT or --entry FILE")
            return 1
        facts = _with_tests(facts, root)
    files = _files(root, tried, facts, report, data)
    if dry_run:
        for path, text in files.items():
            click.echo(f"\n# {path}\n{text.removeprefix(_text(root / path))}", nl=False)
        return 0
    write_all({root / path: text.encode() for path, text in files.items()})
    for path in files:
        click.echo(f"wrote {path}")
    failure = record(chosen.name, root, _notify)
    if failure is not None and tried.files:
        click.echo("two runs differ: once more without the files that it writes into the repository")
        run = root / RUNS_FOLDER / f"{chosen.name}.toml"
        run.write_text(run_file(tried.proposal, (), data), encoding="utf-8")
        failure = record(chosen.name, root, _notify)
    return _finish(root, chosen.name, files, failure)


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
        ways = "\n".join(f"  golden-gate init --entry {shlex.quote(found.path)}" for found in alike)
        raise ConfigError(f"{len(alike)} scripts train, and nothing says which is meant; one of:\n{ways}")
    return entries[0], entries[1:]


def _anchored(words: Sequence[str], root: Path) -> tuple[str, ...]:
    """Return the words with paths out of the repository made absolute: other versions lie elsewhere."""
    changed = []
    for word in words:
        option, equals, value = word.rpartition("=")
        path = root / value
        if ".." in Path(value).parts and path.exists() and not path.resolve().is_relative_to(root):
            click.echo(f"{value} is outside of the repository: written as an absolute path")
            word = f"{option}{equals}{path.resolve()}"
        changed.append(word)
    return tuple(changed)


def _loops(report: Report, entry: EntryPoint) -> list[str]:
    """Return the hot loops of the entry's files, and how many there are in others."""
    found = [f"{o.place.path}:{o.place.line} {o.header}" for o in report.loops if o.place.path in entry.files]
    if beyond := [loop.place.path for loop in report.loops if loop.place.path not in entry.files]:
        count = len(set(beyond))
        others = f"{count} file{'' if count == 1 else 's'}"
        found.append(f"{len(beyond)} more in {others} that the run does not import")
    return found


def _refuse_existing(root: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        if (root / path).exists():
            raise ConfigError(f"{path} is there already; move it away, or write [tool.gate] by hand")


def _tried(proposal: Proposal, root: Path) -> Tried:
    before = ignored.untracked(root)
    tried = try_run(proposal, root=root, notify=_notify)
    if left := sorted(ignored.untracked(root) - before):
        click.echo(f"it leaves {', '.join(left)} in the repository: now in .gitignore")
        (root / ".gitignore").write_text(ignored.ignore(root, left), encoding="utf-8")
    if tried.failure is None:
        click.echo(f"it runs: {tried.proposal.budget:.0f} s")
    for file in tried.files:
        click.echo(f"also compared: {file}")
    if not tried.proposal.seeded:
        click.echo("no option for a seed was seen; golden seeds Python, numpy and torch before it starts")
    return tried


def _with_tests(facts: Facts, root: Path) -> Facts:
    """Return the facts with what came of collecting the tests."""
    if facts.tests is None:
        return facts
    _notify(f"collecting the tests in {facts.tests}")
    reason = _uncollected(root, facts.tests)
    said = "part of the gate" if reason is None else f"left out, for pytest collects none: {reason}"
    click.echo(f"tests in {facts.tests}: {said}")
    return replace(facts, uncollected=reason)


def _uncollected(root: Path, folder: str) -> str | None:
    """Return why pytest collects no tests from a folder, in a line; None where it does."""
    words = ["--collect-only", "-q", "-p", "no:cacheprovider", folder]
    try:
        done = launch("pytest", words, root=root, config=GateConfig(), timeout=_COLLECTING_S)
    except subprocess.TimeoutExpired:
        return f"not done after {_COLLECTING_S:g} s"
    if done.status == 0:
        return None
    lines = [line.strip("= ") for line in done.output.splitlines() if line.strip("= ")]
    raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
    return (raised or lines or ["no output"])[-1]


def _files(root: Path, tried: Tried, facts: Facts, report: Report, data: Sequence[str]) -> dict[Path, str]:
    entry = tried.proposal.entry
    files = {RUNS_FOLDER / f"{entry.name}.toml": run_file(tried.proposal, tried.files, data)}
    if facts.loops:
        accepted = update_baseline(report, Baseline((), NAME), reason="there before the gate").baseline
        files[Path(NAME)] = render_baseline(accepted.entries)
    before = _text(root / _PROJECT)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    files[_PROJECT] = before + gap + gate_table(entry, facts, source_paths(root), NAME)
    golden = [FOLDER / entry.name / "common.json"]
    if hidden := [Path(path) for path, _ in ignored.ignored(root, [*files, *golden])]:
        files[Path(".gitignore")] = ignored.unignore(root, hidden)
    return files


def _finish(root: Path, name: str, files: dict[Path, str], failure: str | None) -> int:
    for path, rule in ignored.ignored(root, [p for p in files if p.name != ".gitignore"]):
        click.echo(f"git ignores {path} ({rule}): add it with `git add -f {path}`")
    rows = [(f"golden doctor {name}", "is it deterministic, and what does it compare?")]
    if failure is not None:
        click.echo(f"no golden of it can be kept: {failure}")
        click.echo(f"change the run in {RUNS_FOLDER / name}.toml")
        rows.append((f"golden record {name} --update", "keep the golden of this machine"))
    rows.append(("git add -A && git commit", "the gate's configuration and goldens belong to the repository"))
    rows.append(("golden-gate run", "every check; put it on each pull request with ci/action.yml"))
    click.echo("next:")
    for words, why in rows:
        click.echo(f"  {words:<33} {why}")
    return 0 if failure is None else 1


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
