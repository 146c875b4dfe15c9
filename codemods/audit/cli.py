"""The command line of the preflight report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from codemods.audit.build import build_report
from codemods.audit.text import render_text
from codemods.output import output_option, put, run_command
from esper_harness.report.json import json_text


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``python -m codemods.audit`` and give its exit status.

    0: every helper can be lifted, or ``--exit-zero``; 1: some are refused; 2: unusable input.
    """
    return run_command(command, argv)


@click.command(
    name="audit",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Report what helpers capture, who calls them, what tests patch, and what can be lifted or moved."
    "\n\nExit status: 0 every helper can be lifted, 1 some are refused, 2 unusable input.",
)
@click.version_option(package_name="esper-harness", message="%(prog)s %(version)s")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--function", metavar="QUALNAME", help="Only this function (default: all that have helpers).")
@click.option(
    "--tests", type=click.Path(path_type=Path), multiple=True, help="Search here for seams; repeatable."
)
@click.option(
    "--accept", metavar="CODE", multiple=True, help="Accept an assumption, in the plan too; repeatable."
)
@click.option("--root", type=click.Path(path_type=Path), hidden=True)
@click.option(
    "--format", "--output-format", "output_format", type=click.Choice(["text", "json"]), default="text"
)
@output_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
def command(
    file: Path,
    function: str | None,
    tests: tuple[Path, ...],
    accept: tuple[str, ...],
    root: Path | None,
    output_format: str,
    output: Path | None,
    exit_zero: bool,
) -> int:
    """Make the report that the options ask for, and write it."""
    for option, folder in (("--root", root), *(("--tests", folder) for folder in tests)):
        if folder is not None and not folder.exists():
            raise click.UsageError(f"{option} {folder}: no such folder")
    report = build_report(file, function=function, tests=tests, root=root, accept=accept)
    put(json_text(report) if output_format == "json" else render_text(report), output)
    refused = any(helper.here.refusal for function in report.functions for helper in function.helpers)
    return 1 if refused and not exit_zero else 0
