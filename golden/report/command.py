"""The command `golden report`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import click

from esper_harness.report.plain import visible
from golden.check.fixtures import write_whole
from golden.check.results import Result, merge
from golden.reach.evidence import Evidence
from golden.reach.tell import tell
from golden.report.build import Report, build, localized, of_result, trace_pairs
from golden.report.junit import render_junit
from golden.report.markdown import render_markdown
from golden.trace.errors import UnusableInput, worst
from golden.trace.trace import load_trace

_LINE = 1000
_PAGE = "golden.report.page"
_file = click.Path(path_type=Path)


@click.command("report")
@click.argument("folders", nargs=-1, required=True, type=_file, metavar="A B | --merge DIR...")
@click.option("--merge", "merging", is_flag=True, help="The folders hold the results of a suite's shards.")
@click.option(
    "-o",
    "--output",
    "outputs",
    type=_file,
    metavar="FILE",
    multiple=True,
    help="A self-contained page (.html), a summary under 1 MiB (.md), or JUnit XML with a case per kind that "
    "differs (.xml); may be repeated.",
)
def report_command(folders: tuple[Path, ...], merging: bool, outputs: tuple[Path, ...]) -> int:
    """Write up how two traces compare, or two folders of traces by run.

    With --merge, put together what `golden verify` or `golden ab` left in the folders given to its -o, one
    for each shard, and with its --base what of the change ran. The exit status is that of the worst run; a
    shard that left no result counts as failed.
    """
    if not outputs:
        raise UnusableInput("say what to write: -o FILE.html, FILE.md or FILE.xml")
    for path in outputs:
        if path.is_dir():
            raise UnusableInput(f"{path} is a folder; name the file that the report goes to")
        if path.suffix not in _WRITERS:
            raise UnusableInput(f"{path}: a report is {', '.join(_WRITERS)}; name the file so")
    if any(_WRITERS[path.suffix] is _render_page for path in outputs):
        # A page that can't be drawn is told before the traces are compared.
        importlib.import_module(_PAGE)
    evidence: Evidence | None = None
    if merging:
        merged = merge(folders)
        reports, code = [_of_result(folder, result) for folder, result in merged.results], merged.code
        evidence = merged.evidence
        for index in merged.missing:
            click.echo(f"golden: shard {index} of {merged.shards} left no result", err=True)
    else:
        if len(folders) != 2:
            raise UnusableInput("name two traces, A and B, or the folders of a suite's shards with --merge")
        reports = [_report(a, b) for a, b in trace_pairs(*folders)]
        code = worst([int(report.code) for report in reports])
    for report in reports:
        click.echo(visible(report.line, _LINE))
    for line in tell(evidence) if evidence is not None else ():
        click.echo(visible(line, _LINE))
    for path in dict.fromkeys(outputs):
        write_whole(path, _WRITERS[path.suffix](reports, evidence))
        click.echo(f"report -> {path}")
    return code


def _render_page(reports: list[Report], evidence: Evidence | None) -> str:
    from golden.report.page import render_page  # needs jinja2, which is an extra

    return render_page(reports, evidence)


_WRITERS: dict[str, Callable[[list[Report], Evidence | None], str]] = {
    ".html": _render_page,
    ".md": render_markdown,
    ".xml": render_junit,
}


def _of_result(folder: Path, result: Result) -> Report:
    if result.left and result.right:
        report = _report(folder / result.left, folder / result.right)
        # Two traces don't tell whether the base repeats itself.
        if report.code == result.code:
            return report
    return of_result(result)


def _report(left: Path, right: Path) -> Report:
    a, b = load_trace(left), load_trace(right)
    closely = localized(left, right)
    return build(a, b, left_title=str(left), right_title=str(right), closely=closely)
