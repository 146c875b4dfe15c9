"""``codemods extract``: lift helpers out of functions, or say why not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codemods.output import output_option, put, run_command
from codemods.program.repository import project_root, read_tools, unreadable_files
from codemods.program.source import read_source
from esper_harness import leave

if TYPE_CHECKING:
    from codemods.plans.report import Report


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
    "that needs one: used as a value, decorated, called with **keywords (auto); may be repeated.",
)
@click.option(
    "--cell",
    metavar="NAME",
    multiple=True,
    help="Keep variables that this helper shares and that are rebound in an object; may be repeated.",
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
    "--format",
    "--output-format",
    "output_format",
    type=click.Choice(["text", "json", "diff"]),
    default="text",
    show_default=True,
)
@output_option
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("--explain", metavar="CODE", help="Explain a refusal code and exit.")
def command(explain: str | None, **given: Any) -> int:
    """Lift the helpers of FILE to module level, their captures made explicit parameters.

    What can't be proven to keep the program's meaning is refused, with the line that forbids it and a way
    out. Without --write nothing is changed.

    Exit status: 0 done or clean, 1 a helper was refused or --check found a change, 2 unusable input.
    """
    if explain is not None:
        from codemods.rewrites import refusals

        click.echo(refusals.explain(explain), nl=False)
        return 0
    _must_fit(given)
    file, plan, output, quiet = given["file"], given["plan"], given["output"], given["quiet"]
    told = given["root"] if plan is not None else None
    root = told.resolve() if told is not None else project_root(plan or file)
    read_tools(root / "pyproject.toml")
    report = _carried_out(given)
    if not quiet and (plan is not None or given["to"] is not None):
        for path, kind in unreadable_files(root):
            click.echo(f"codemods extract: {path} was not read: it is {kind}", err=True)
    changed = ", ".join(change.shown for change in report.files if change.changed)
    if given["write"] and changed and not (plan is not None and report.refused):
        from codemods.plans.write import write_all

        write_all(report.in_order())
    if not quiet or output is not None:
        put(_rendered(report, given), output)
    if report.refused:
        if plan is not None and given["write"]:
            what = "nothing was written, since a plan is carried out as a whole; leave out what is refused"
            click.echo(f"codemods extract: {what}, or follow its way out", err=True)
        return 1
    if given["check"] and changed:
        if not quiet:
            click.echo(f"codemods extract: would change {changed}", err=True)
        return 1
    return 0


def _must_fit(given: dict[str, Any]) -> None:
    """Refuse options that exclude each other."""
    if (given["file"] is None) == (given["plan"] is None):
        raise click.UsageError("give either a FILE or --plan PLAN.toml")
    about, output = (given["file"], given["plan"]), given["output"]
    if output is not None and output.resolve() in {path.resolve() for path in about if path is not None}:
        raise click.UsageError(f"--output {output}: is one of the files that the report is about")
    if given["write"] and given["check"]:
        raise click.UsageError("--write and --check exclude each other")
    of_plan = ("function", "helpers", "to", "wrapper", "cell", "accept")
    if given["plan"] and any(given[key] for key in of_plan):
        raise click.UsageError(
            "--function, --helper, --to, --wrapper, --cell and --accept are what a plan says; "
            "leave them out with --plan"
        )


def _carried_out(given: dict[str, Any]) -> Report:
    """Carry out what is asked for in memory."""
    if given["plan"] is not None:
        from codemods.plans.run import run_plan

        return run_plan(given["plan"], given["root"])
    from codemods.plans.single import extract_source
    from codemods.program.lifting import Analysis

    return extract_source(
        Analysis(read_source(given["file"])),
        given["function"],
        given["helpers"],
        given["to"],
        given["wrapper"],
        given["cell"],
        dict.fromkeys(given["accept"], "given on the command line"),
    )


def _rendered(report: Report, given: dict[str, Any]) -> str:
    from codemods import render

    if given["output_format"] == "json":
        return render.as_json(report)
    if given["output_format"] == "diff":
        return render.as_diff(report)
    text = render.as_text(report)
    if given["file"] is not None and not report.helpers:
        text += (
            "a plan moves functions, classes and constants of the top level; one that is ready to try ends "
            f"what this prints: codemods audit {given['file']}\n"
        )
    return text if given["write"] else render.as_diff(report) + text


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return run_command(command, argv)


if __name__ == "__main__":
    leave(main())
