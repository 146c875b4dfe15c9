"""The command line of the hot path checker."""

from __future__ import annotations

import atexit
import enum
import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codemods.hotpath.codes import CODES
from codemods.output import output_option, put, run_command

if TYPE_CHECKING:
    from codemods.hotpath.baseline import Baseline
    from codemods.hotpath.compare import Comparison
    from codemods.hotpath.config import Config
    from codemods.hotpath.results import Report
    from codemods.hotpath.text import Lines

_ADDED = "accepted by --update-baseline"
FORMATS = ("text", "json", "github", "sarif")


class Exit(enum.IntEnum):
    """Exit statuses."""

    CLEAN = 0
    FOUND = 1
    UNUSABLE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``python -m codemods.hotpath`` and give its exit status.

    0: nothing (new) stalls, or ``--exit-zero``; 1: something does, or the baseline is stale; 2: unusable
    input, or no hot loop was seen.
    """
    # What was analysed lives to the end; a search through it for garbage on the way out costs much time.
    atexit.register(gc.freeze)
    return run_command(command, argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The options of the command."""

    paths: tuple[Path, ...]
    base: str | None
    baseline: Path | None
    update_baseline: bool
    add_allow: str | None
    measured: Path | None
    output_format: str
    output: Path | None
    quiet: bool
    heat: str | None
    allow_no_loops: bool
    exit_zero: bool
    root: Path | None
    code: str | None


@click.command(
    name="hotpath",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find what stalls the device in hot loops, also in functions called from them.\n\n"
    "Exit status: 0 nothing found, 1 something found or a stale baseline, 2 unusable input or no hot loop.",
)
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--base", metavar="REF", help="Report only what is new since this git commit.")
@click.option(
    "--baseline", type=click.Path(path_type=Path), help="Report only what this file does not accept."
)
@click.option("--update-baseline", is_flag=True, help="Bring the baseline up to date, and list what changed.")
@click.option("--add-allow", metavar="REASON", help="Write `# hotpath: allow[...] REASON` at every finding.")
@click.option(
    "--measured",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Compare with the syncs of a run, as `golden syncs -o FILE` measures them.",
)
@click.option(
    "--format",
    "--output-format",
    "output_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
)
@output_option
@click.option("-q", "--quiet", is_flag=True, help="Text: a line for each finding, and no summary.")
@click.option(
    "--heat",
    metavar="LIST",
    help="What is reported, commas between: env, step, every-n, epoch, once; or all (default: env,step).",
)
@click.option("--allow-no-loops", is_flag=True, help="It is no error if no hot loop is seen.")
@click.option("--exit-zero", is_flag=True, hidden=True)
@click.option("--root", type=click.Path(path_type=Path), hidden=True)
@click.option("--explain", "code", metavar="CODE", help="Explain a code and exit.")
def command(**given: Any) -> int:
    """The options, turned into a check and its rendering."""
    asked = _Asked(**given)
    if asked.code is not None:
        return _explain(asked.code)
    _refuse_mixed(asked)

    from codemods.hotpath.check import check, check_commit
    from codemods.hotpath.compare import compare
    from codemods.hotpath.config import read_config
    from codemods.hotpath.trees import root_of

    paths = asked.paths
    project = asked.root or root_of(paths)
    config = _with_heat(read_config(project), asked.heat or ("all" if asked.measured else None))
    report = check(paths, config, root=project)
    if asked.measured is not None:
        return _measured(report, asked.measured, exit_zero=asked.exit_zero)
    if asked.update_baseline:
        return _update(report, _baseline_path(asked.baseline, config, project))
    if asked.base is not None:
        before = check_commit(asked.base, paths, config, root=project)
        comparison = compare(report, before, against=asked.base)
    else:
        comparison = compare(report, _read_baseline(asked.baseline, config, project))
    if asked.add_allow is not None:
        return _allow(comparison, project, asked.add_allow)
    put(_render(comparison, _lines(project), asked), asked.output)
    if comparison.clean and not report.loops and not asked.allow_no_loops:
        _nothing_seen(report)
        return Exit.CLEAN if asked.exit_zero else Exit.UNUSABLE
    return Exit.CLEAN if comparison.clean or asked.exit_zero else Exit.FOUND


def _refuse_mixed(asked: _Asked) -> None:
    """Options that do not go together, and those that nothing can be done with."""
    if not asked.paths:
        raise click.UsageError("no PATH given; name the files or folders to check")
    if asked.base is not None and (asked.baseline is not None or asked.update_baseline):
        raise click.UsageError("--base and --baseline exclude each other; compare with one of them")
    if asked.root is not None and not asked.root.is_dir():
        raise click.UsageError(f"--root {asked.root}: no such folder")


def _with_heat(config: Config, heat: str | None) -> Config:
    """The configuration with what the command line says is reported."""
    if heat is None:
        return config
    from codemods.hotpath.results import HEATS

    wanted = HEATS if heat == "all" else tuple(item.strip() for item in heat.split(","))
    for item in wanted:
        if item not in HEATS:
            raise click.UsageError(f"--heat: no such heat {item}; known are {', '.join(HEATS)}, all")
    return replace(config, heat=wanted)


def _nothing_seen(report: Report) -> None:
    from codemods.hotpath.text import looked_at

    click.echo(
        f"codemods hotpath: {looked_at(report)}: nothing was checked; name other paths, mark a loop with "
        "`# hotpath: loop`, say in [tool.codemods.hotpath] how loops are called, or pass --allow-no-loops",
        err=True,
    )


def _explain(code: str) -> int:
    from codemods.hotpath.text import explain

    if code.upper() not in CODES:
        raise click.UsageError(f"no code {code}; known are {', '.join(CODES)}")
    click.echo(explain(code.upper()), nl=False)
    return Exit.CLEAN


def _baseline_path(given: Path | None, config: Config, project: Path) -> Path:
    from codemods.hotpath.baseline import NAME

    return given if given is not None else project / (config.baseline or NAME)


def _read_baseline(given: Path | None, config: Config, project: Path) -> Baseline | None:
    from codemods.hotpath.baseline import read_baseline

    if given is None and config.baseline is None:
        return None
    return read_baseline(_baseline_path(given, config, project))


def _update(report: Report, path: Path) -> int:
    from codemods.hotpath.baseline import Baseline, read_baseline, render_baseline
    from codemods.hotpath.compare import update_baseline
    from codemods.hotpath.text import one_line

    before = read_baseline(path) if path.exists() else Baseline((), str(path))
    update = update_baseline(report, before, reason=_ADDED)
    try:
        path.write_text(render_baseline(update.baseline.entries), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path}: can't be written: {error.strerror}") from None
    for finding in update.added:
        click.echo(f"added: {one_line(finding)}")
    for entry, count in update.pruned:
        click.echo(f"pruned: {count} of {entry}")
    edit = f"; write there why each is accepted, for {_ADDED!r}" if update.added else ""
    click.echo(f"{path}: {len(update.added)} added, {sum(n for _, n in update.pruned)} pruned{edit}")
    return Exit.CLEAN


def _allow(comparison: Comparison, project: Path, reason: str) -> int:
    from codemods.hotpath.allow import add_pragmas

    if not reason.strip():
        raise click.UsageError("--add-allow: a reason is required; say why the stalls are worth it")
    changed = add_pragmas(comparison.new, project, reason)
    for path, number in changed:
        click.echo(f"{path}: {number} comment{'' if number == 1 else 's'}")
    if not changed:
        click.echo("nothing to allow")
    return Exit.CLEAN


def _measured(report: Report, path: Path, *, exit_zero: bool) -> int:
    from codemods.hotpath.measurements import crosscheck, read_measured, summary

    rows = crosscheck(report, read_measured(path))
    for row in rows:
        said = f"{row.code} {row.heat}: " if row.code else ""
        seen = f", {', '.join(row.syncs)}" if row.syncs else ""
        click.echo(f"{row.path}:{row.line}: {said}{row.verdict}{seen}")
    click.echo(summary(rows))
    missed = any(row.verdict == "not reported" for row in rows)
    return Exit.FOUND if missed and not exit_zero else Exit.CLEAN


def _render(comparison: Comparison, source: Lines, asked: _Asked) -> str:
    if asked.output_format in ("json", "github", "sarif"):
        from codemods.hotpath import formats, sarif

        if asked.output_format == "github":
            return "".join(f"{line}\n" for line in formats.render_github(comparison))
        render = formats.render_json if asked.output_format == "json" else sarif.render_sarif
        return render(comparison)
    from codemods.hotpath import text

    if asked.quiet:
        return "".join(f"{line}\n" for line in text.render_concise(comparison))
    lines = [*text.render_full(comparison, source), text.render_summary(comparison)]
    return "".join(f"{line}\n" for line in lines)


def _lines(project: Path) -> Lines:
    """A reader of single lines of the project's files."""
    read: dict[str, list[str]] = {}

    def line(path: str, number: int) -> str:
        if path not in read:
            try:
                file = project / path
                text = file.read_text("utf-8", "replace") if file.is_file() else ""
                read[path] = text.splitlines()
            except OSError:
                read[path] = []
        return read[path][number - 1] if number <= len(read[path]) else ""

    return line
