"""``codemods extract``: lift helpers out of functions, or say why not."""

from __future__ import annotations

import enum
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codemods.output import explain_code, put, run_command
from codemods.program.repository import project_root, read_tools, unreadable_files
from codemods.program.source import read_source, room_for_nesting

if TYPE_CHECKING:
    from codemods.plans.report import Report


class Exit(enum.IntEnum):
    """Exit statuses."""

    DONE = 0
    FOUND = 1
    UNUSABLE = 2


@click.command(name="extract", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--function", metavar="QUALNAME", help="Only helpers defined directly in this function.")
@click.option("--helper", "helpers", metavar="NAME", multiple=True, help="Only this helper; may be repeated.")
@click.option("--to", type=click.Path(path_type=Path), help="Put the lifted functions into this new file.")
@click.option(
    "--wrapper",
    metavar="NAME|auto",
    multiple=True,
    help="Leave a one-line closure of this helper that forwards to the lifted function, or of every helper "
    "that is used as a value (auto); may be repeated.",
)
@click.option(
    "--cell",
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
    "--accept",
    metavar="CODE",
    multiple=True,
    help="Accept an assumption (introspection, dynamic-names, ...): it refuses nothing; may be repeated.",
)
@click.option("--plan", type=click.Path(path_type=Path), help="Carry out a plan file.")
@click.option("--root", type=click.Path(path_type=Path), hidden=True)
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
    "--format",
    "--output-format",
    "output_format",
    type=click.Choice(["text", "json", "diff"]),
    default="text",
    show_default=True,
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file."
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("--exit-zero", is_flag=True, hidden=True)
@click.option("--explain", metavar="CODE", help="Explain a refusal code and exit.")
def command(**given: Any) -> int:
    """Lift the helpers of FILE to module level, their captures made explicit parameters.

    What can't be proven to keep the program's meaning is refused, with the line that forbids it and a way
    out. Without --write nothing is changed.

    Exit status: 0 done or clean, 1 a helper was refused or --check found a change, 2 unusable input.
    """
    asked = _Asked(**given)
    if asked.explain is not None:
        explain_code(asked.explain)
        return Exit.DONE
    asked.must_fit()
    root = asked.project()
    read_tools(root / "pyproject.toml")
    report = _carried_out(asked)
    if not asked.quiet and (asked.plan is not None or asked.to is not None):
        for path, kind in unreadable_files(root):
            click.echo(f"codemods extract: {path} was not read: it is {kind}", err=True)
    changed = ", ".join(change.shown for change in report.files if change.changed)
    if asked.check and changed and not report.refused and (later := _superseded(report, asked)):
        if not asked.quiet:
            click.echo(f"codemods extract: the tree is what {later} makes, which builds on this plan")
        return Exit.DONE
    if asked.output is not None and asked.output.resolve() in _places(asked, report):
        raise click.UsageError(f"--output {asked.output}: is one of the files that the report is about")
    if asked.write and changed and not (asked.plan is not None and report.refused):
        from codemods.plans.write import write_all

        write_all(report.in_order())
    if not asked.quiet or asked.output is not None:
        put(_rendered(report, asked), asked.output)
    if report.refused and not asked.exit_zero:
        return Exit.FOUND
    if asked.check and changed:
        if not asked.quiet:
            click.echo(f"codemods extract: would change {changed}", err=True)
        return Exit.FOUND
    return Exit.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The options of the command line."""

    file: Path | None
    function: str | None
    helpers: tuple[str, ...]
    to: Path | None
    wrapper: tuple[str, ...]
    cell: tuple[str, ...]
    captures: str
    accept: tuple[str, ...]
    plan: Path | None
    root: Path | None
    write: bool
    check: bool
    derive: Path | None
    output_format: str
    output: Path | None
    quiet: bool
    exit_zero: bool
    explain: str | None

    def must_fit(self) -> None:
        """Refuse options that exclude each other."""
        if (self.file is None) == (self.plan is None):
            raise click.UsageError("give either a FILE or --plan PLAN.toml")
        if self.write and self.check:
            raise click.UsageError("--write and --check exclude each other")
        if self.derive is not None and (self.plan is None or self.write or self.check):
            raise click.UsageError("--derive goes with --plan, and without --write and --check")
        of_plan = self.function or self.helpers or self.to or self.cell or self.accept or self.wrapper
        if self.plan is not None and (of_plan or self.accept or self.captures != "params"):
            raise click.UsageError(
                "--function, --helper, --to, --wrapper, --cell, --captures and --accept are what "
                "a plan says; leave them out with --plan"
            )

    def project(self) -> Path:
        """The folder of the project."""
        if self.plan is not None:
            from codemods.plans.run import root_of

            return root_of(self.plan, self.root)
        assert self.file is not None
        return project_root(self.file)


def _carried_out(asked: _Asked) -> Report:
    """Carry out what is asked for in memory; with ``--derive``, in another folder."""
    with room_for_nesting():
        if asked.plan is not None and asked.derive is not None:
            from codemods.plans.derive import derive_tree

            return derive_tree(asked.plan, asked.root, asked.derive)
        if asked.plan is not None:
            from codemods.plans.run import run_plan

            return run_plan(asked.plan, asked.root)
        from codemods.plans.lift import extract_source
        from codemods.program.lifting import Analysis

        assert asked.file is not None
        return extract_source(
            Analysis(read_source(asked.file)),
            asked.function,
            asked.helpers,
            asked.to,
            [name for name in asked.wrapper if name != "auto"],
            asked.captures,
            asked.cell,
            "inferred",
            dict.fromkeys(asked.accept, "given on the command line"),
            "auto" if "auto" in asked.wrapper else None,
        )


def _places(asked: _Asked, report: Report) -> set[Path]:
    """The files that a command is about."""
    given = [file for file in (asked.file, asked.plan) if file is not None]
    return {file.resolve() for file in (*given, *report.sources, *(change.path for change in report.files))}


def _superseded(report: Report, asked: _Asked) -> Path | None:
    """A plan that builds on the one that was asked for, and that the tree is the result of."""
    from codemods.plans.derive import Carried, judge_plan

    if asked.plan is None:
        return None
    with room_for_nesting():
        state = judge_plan(report, asked.plan, asked.root)
    return state.by if isinstance(state, Carried) else None


def _rendered(report: Report, asked: _Asked) -> str:
    from codemods import render

    if asked.output_format == "json":
        return render.as_json(report)
    if asked.output_format == "diff":
        return render.as_diff(report)
    text = render.as_text(report, width=max(80, shutil.get_terminal_size((120, 24)).columns))
    if asked.file is not None and not report.helpers:
        text += (
            "a plan moves functions, classes and constants of the top level; one that is ready to try ends "
            f"what this prints: codemods audit {asked.file}\n"
        )
    written = asked.write or asked.derive is not None
    return ("" if written else render.as_diff(report)) + text


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return run_command(command, argv)


if __name__ == "__main__":
    sys.exit(main())
