"""The command: look, propose, write, and say what comes next."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from ci.config import ConfigError
from ci.init.agents import write_section
from ci.init.entry_points import EntryPoint, find_entry_points, read_entry_point
from ci.init.hot_loops import BASELINE, baseline_text, hot_report, loops
from ci.init.propose import gate_table, has_gate, read_facts, run_file, source_paths
from codemods.facts import SourceError
from codemods.plans import WriteError, write_all
from golden.record.run import RUNS_FOLDER

_NEXT = """\
next:
  golden doctor {run}               is it deterministic, and how long does it take? Shorten it in {run_file}
  golden record {run} --update      keep what it does as the golden of this kind of machine
  golden-gate run                   every check; put it on each pull request with ci/action.yml
"""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.option(
    "--root",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The repository; by default the current folder.",
)
@click.option(
    "--entry", metavar="FILE", help="The script that starts a training, where none or the wrong one is found."
)
@click.option("--agents", is_flag=True, help="Write only the rules for coding agents, into AGENTS.md.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def command(root: Path, entry: str | None, agents: bool, dry_run: bool) -> int:
    """Write a commented [tool.gate], one golden run and a hot-path baseline; change nothing else.

    Exit status: 0 written, 2 unusable input.
    """
    root = root.resolve()
    if agents:
        return write_section(root, dry_run=dry_run)
    if has_gate(root):
        raise ConfigError(f"{root / 'pyproject.toml'} has a [tool.gate] table already; change it by hand")
    chosen, others = _choose(root, entry)
    report = hot_report(root, source_paths(root))
    facts = read_facts(root, loops(report), BASELINE)
    files = {RUNS_FOLDER / f"{chosen.name}.toml": run_file(chosen)}
    if facts.loops:
        files[Path(BASELINE)] = baseline_text(report)
    for path in files:
        if (root / path).exists():
            raise ConfigError(f"{path} is there already; move it away, or write [tool.gate] by hand")
    before = _text(root / "pyproject.toml")
    files[Path("pyproject.toml")] = before + ("\n" if before else "") + gate_table(chosen, facts)
    click.echo(
        f"entry point: {chosen.path}" + (f" (also: {', '.join(o.path for o in others)})" if others else "")
    )
    click.echo(f"per-env loops: {len(facts.loops)}, with {len(report.findings)} stalls")
    for loop in facts.loops:
        click.echo(f"  {loop}")
    if dry_run:
        for path, text in files.items():
            shown = text.removeprefix(before) if path.name == "pyproject.toml" else text
            click.echo(f"\n# {path}\n{shown}", nl=False)
        return 0
    write_all({root / path: text.encode() for path, text in files.items()})
    for path in files:
        click.echo(f"wrote {path}")
    click.echo(_NEXT.format(run=chosen.name, run_file=RUNS_FOLDER / f"{chosen.name}.toml"), nl=False)
    return 0


def _choose(root: Path, entry: str | None) -> tuple[EntryPoint, list[EntryPoint]]:
    if entry is not None:
        path = root / entry
        if not path.is_file():
            raise ConfigError(f"--entry {entry}: no such file in {root}")
        found = read_entry_point(path.resolve(), root)
        if found is None:
            raise ConfigError(f"--entry {entry}: not valid Python")
        return found, []
    entries = find_entry_points(root)
    if not entries:
        raise ConfigError(
            f"no script in {root} that steps an optimizer after a backward pass; name yours with --entry FILE"
        )
    return entries[0], entries[1:]


def _text(path: Path) -> str:
    return path.read_bytes().decode() if path.is_file() else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors become one line and an exit status."""
    try:
        return int(command.main(args=argv, prog_name="golden-gate init", standalone_mode=False) or 0)
    except click.ClickException as error:
        message = error.format_message()
    except (ConfigError, SourceError, WriteError) as error:
        message = str(error)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"pyproject.toml: not TOML: {error}"
    except (click.Abort, KeyboardInterrupt):
        click.echo("golden-gate init: interrupted", err=True)
        return 130
    click.echo(f"golden-gate init: {message}", err=True)
    return 2
