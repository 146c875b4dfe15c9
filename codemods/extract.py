"""``codemods extract``: lift helpers out of functions, or say why not."""

from __future__ import annotations

import contextlib
import enum
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from codemods.facts.repository import unreadable_files
from codemods.facts.source import no_collection

if TYPE_CHECKING:
    from codemods.decide.refusals import Rule
    from codemods.plans.report import Report


class Exit(enum.IntEnum):
    """Exit statuses."""

    DONE = 0
    FOUND = 1
    UNUSABLE = 2


class _Unusable(click.ClickException):
    """Input that can't be used: one line, exit status 2."""

    exit_code = int(Exit.UNUSABLE)

    def show(self, file: object = None) -> None:
        click.echo(f"codemods extract: {self.message}", err=True)


@click.command(name="extract", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--function", metavar="QUALNAME", help="Only helpers defined directly in this function.")
@click.option("--helper", "helpers", metavar="NAME", multiple=True, help="Only this helper; may be repeated.")
@click.option("--to", type=click.Path(path_type=Path), help="Put the lifted functions into this new file.")
@click.option(
    "--residual",
    metavar="NAME",
    multiple=True,
    help="Leave a one-line closure of this helper that forwards to the lifted function; may be repeated.",
)
@click.option(
    "--box",
    metavar="NAME",
    multiple=True,
    help="Keep variables that this helper shares and that are rebound in an object; may be repeated.",
)
@click.option(
    "--captures",
    type=click.Choice(["params", "context"]),
    default="params",
    help="Pass captures as keyword-only parameters (the default), or collected in one frozen dataclass.",
)
@click.option(
    "--annotations",
    type=click.Choice(["inferred", "any", "none"]),
    default="inferred",
    help="Annotate captures with what the program says they are (the default), with Any where it does not "
    "say, or not at all.",
)
@click.option("--plan", type=click.Path(path_type=Path), help="Carry out a plan file.")
@click.option("--root", type=click.Path(path_type=Path), help="Folder that the plan's paths are relative to.")
@click.option("--write", is_flag=True, help="Write the files; without it nothing is changed.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if anything would be written.")
@click.option(
    "--derive",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write what the plan makes of its frozen source into this folder, beside a copy of the project's "
    "other files.",
)
@click.option(
    "--output-format", type=click.Choice(["text", "json", "diff"]), default="text", show_default=True
)
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file.")
@click.option("--statistics", is_flag=True, help="Count outcomes by code.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 although helpers were refused.")
@click.option("--explain", metavar="CODE", help="Explain a refusal code and exit.")
def command(
    file: Path | None,
    function: str | None,
    helpers: tuple[str, ...],
    to: Path | None,
    residual: tuple[str, ...],
    box: tuple[str, ...],
    captures: str,
    annotations: Literal["inferred", "any", "none"],
    plan: Path | None,
    root: Path | None,
    write: bool,
    check: bool,
    derive: Path | None,
    output_format: str,
    output: Path | None,
    statistics: bool,
    quiet: bool,
    exit_zero: bool,
    explain: str | None,
) -> int:
    """Lift the helpers of FILE to module level, their captures made explicit parameters.

    What can't be proven to keep the program's meaning is refused, with the line that forbids it and a way
    out. Without --write nothing is changed.
    """
    if explain is not None:
        return _explain(explain)
    if (file is None) == (plan is None):
        raise click.UsageError("give either a FILE or --plan PLAN.toml")
    if write and check:
        raise click.UsageError("--write and --check exclude each other")
    if derive is not None and (plan is None or write or check):
        raise click.UsageError("--derive goes with --plan, and without --write and --check")
    if plan is not None and (function or helpers or to or residual or box or captures != "params"):
        raise click.UsageError(
            "--function, --helper, --to, --residual, --box and --captures are what a plan says; "
            "leave them out with --plan"
        )
    if plan is not None and annotations != "inferred":
        raise click.UsageError("--annotations is what a plan says; leave it out with --plan")
    with _usable():
        from codemods.plans.derive import derive_tree
        from codemods.plans.journal import settle
        from codemods.plans.run import extract_file, places_of, run_plan

        for settled in settle(places_of(file, plan, root)):
            click.echo(f"codemods extract: {settled}", err=True)

        if plan is not None and derive is not None:
            report = derive_tree(plan, root, derive)
        elif plan is not None:
            report = run_plan(plan, root)
        else:
            assert file is not None
            report = extract_file(file, function, helpers, to, residual, captures, box, annotations)
    if not quiet and (plan is not None or to is not None):
        for path, kind in unreadable_files(places_of(file, plan, root)[-1 if plan is None else 0]):
            click.echo(f"codemods extract: {path} was not read: it is {kind}", err=True)
    stopped = plan is not None and bool(report.refused)
    changed = any(change.changed for change in report.files)
    if (
        check
        and changed
        and not report.refused
        and plan is not None
        and (later := _superseded(report, plan, root))
    ):
        if not quiet:
            click.echo(f"codemods extract: the tree is what {later} makes, which builds on this plan")
        return Exit.DONE
    if write and changed and not stopped:
        _write(report, places_of(file, plan, root)[0])
    if not quiet or output is not None:
        shown = not write and derive is None
        _print(_rendered(report, output_format, statistics, show_diff=shown), output)
    if report.refused and not exit_zero:
        return Exit.FOUND
    if check and changed:
        if not quiet:
            names = ", ".join(change.shown for change in report.files if change.changed)
            click.echo(f"codemods extract: would change {names}", err=True)
        return Exit.FOUND
    return Exit.DONE


def _superseded(report: Report, plan: Path, root: Path | None) -> Path | None:
    """A plan that builds on this one and that the tree is the result of."""
    from codemods.plans.check import Carried, judge_plan

    with _usable():
        state = judge_plan(report, plan, root)
    return state.by if isinstance(state, Carried) else None


def known_rules() -> Mapping[str, Rule]:
    """Every refusal code with what it means."""
    import codemods.decide.rules
    import codemods.plans.run  # noqa: F401  (both register codes)
    from codemods.decide.refusals import RULES

    return RULES


def _explain(code: str) -> int:
    from codemods.decide.refusals import explain

    known = known_rules()
    text = explain(code)
    if text is None:
        raise _Unusable(f"unknown code {code}; known are {', '.join(sorted(known))}")
    click.echo(text, nl=False)
    return Exit.DONE


@contextlib.contextmanager
def _usable() -> Iterator[None]:
    """Input that can't be used ends the command with one line."""
    from codemods.facts.source import room_for_nesting
    from codemods.plans import run
    from codemods.plans.write import WriteError

    try:
        with room_for_nesting():
            yield
    except (run.SourceError, run.PlanError, run.RequestError, run.TargetError, WriteError) as error:
        raise _Unusable(str(error)) from None


def _write(report: Report, journal: Path) -> None:
    from codemods.plans.write import WriteError, write_all

    try:
        write_all(report.in_order(), journal=journal)
    except WriteError as error:
        raise _Unusable(str(error)) from None


def _rendered(report: Report, output_format: str, statistics: bool, *, show_diff: bool) -> str:
    from codemods import render

    if output_format == "json":
        return render.as_json(report)
    if output_format == "diff":
        return render.as_diff(report)
    text = render.as_text(
        report, statistics=statistics, width=max(80, shutil.get_terminal_size((120, 24)).columns)
    )
    return (render.as_diff(report) if show_diff else "") + text


def _print(text: str, output: Path | None) -> None:
    from codemods.output import put

    put(text, output)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    try:
        with no_collection():
            result = command.main(
                args=None if argv is None else list(argv), prog_name="codemods extract", standalone_mode=False
            )
    except click.ClickException as error:
        click.echo(f"codemods extract: {error.format_message()}", err=True)
        return error.exit_code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        return 130
    return int(result or 0)


if __name__ == "__main__":
    sys.exit(main())
