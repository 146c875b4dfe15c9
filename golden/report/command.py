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
from golden.report.build import RunReport, Told, build
from golden.report.headlines import told_line
from golden.report.junit import render_junit
from golden.report.markdown import render_markdown
from golden.report.pairs import localized, trace_pairs
from golden.trace.errors import UnusableInput, worst
from golden.trace.trace import load_trace

_LINE = 1000
_PAGE = "golden.report.page"
_file = click.Path(path_type=Path)


@click.command("report")
@click.argument("folders", nargs=-1, required=True, type=_file, metavar="A B | --merge DIR...")
@click.option("--merge", "merging", is_flag=True, help="The folders hold the results of a suite's shards.")
@click.option("--html", type=_file, metavar="FILE", help="One self-contained page.")
@click.option("--markdown", type=_file, metavar="FILE", help="A summary, under 1 MiB whatever differs.")
@click.option("--junit", type=_file, metavar="FILE", help="JUnit XML: a case per kind that differs.")
def report_command(
    folders: tuple[Path, ...], merging: bool, html: Path | None, markdown: Path | None, junit: Path | None
) -> int:
    """Write up how two traces compare, or two folders of traces by run.

    With --merge, put together what `golden verify` or `golden ab` left in the folders given to its -o, one
    for each shard, and with its --base what of the change ran. The exit status is that of the worst run; a
    shard that left no result counts as failed.
    """
    wanted: list[tuple[Path | None, Callable[[list[RunReport | Told], Evidence | None], str]]] = [
        (html, _render_page),
        (markdown, render_markdown),
        (junit, render_junit),
    ]
    files = [(path, render) for path, render in wanted if path is not None]
    if not files:
        raise UnusableInput("say what to write: --html FILE, --markdown FILE or --junit FILE")
    if len({path.absolute() for path, _ in files}) < len(files):
        raise UnusableInput("two reports can't go to one file; give each its own name")
    for path, _ in files:
        if path.is_dir():
            raise UnusableInput(f"{path} is a folder; name the file that the report goes to")
    if html is not None:
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
        click.echo(visible(told_line(report), _LINE))
    for line in tell(evidence) if evidence is not None else ():
        click.echo(visible(line, _LINE))
    for path, render in files:
        write_whole(path, render(reports, evidence))
        click.echo(f"report -> {path}")
    return code


def _render_page(reports: list[RunReport | Told], evidence: Evidence | None) -> str:
    from golden.report.page import render_page  # needs jinja2, which is an extra

    return render_page(reports, evidence)


def _of_result(folder: Path, result: Result) -> RunReport | Told:
    if result.left and result.right:
        report = _report(folder / result.left, folder / result.right)
        # Two traces don't tell whether the base repeats itself.
        if report.code == result.code:
            return report
    return Told(result.run, result.code, result.text, result.seconds, result.tolerated)


def _report(left: Path, right: Path) -> RunReport:
    a, b = load_trace(left), load_trace(right)
    closely = localized(left, right)
    return build(a, b, left_title=str(left), right_title=str(right), closely=closely)
