"""A golden run at the base and here: same, or where they part, with all that shows it."""

from __future__ import annotations

from pathlib import Path

from ci.base import Base
from ci.checks.check import Context
from ci.checks.compared import Compared, change, compared, folder
from ci.checks.places import command_place, program_place
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict
from esper_harness.extras import missing_extra
from golden.check.ab import AbResult
from golden.check.fixtures import write_whole
from golden.check.localize import Localized, localize
from golden.compare import Different, Identical, NotComparable
from golden.reach.evidence import Evidence
from golden.reach.tell import in_short, tell
from golden.report import render, render_localized
from golden.report.build import build, verdict_line
from golden.report.text import describe
from golden.trace.errors import GoldenError


def against(context: Context, base: Base, name: str) -> Verdict:
    """Run both versions; where they differ, run both again, closely, to find the line."""
    out = folder(context, name)
    try:
        both = compared(context, base, name)
    except GoldenError as error:
        # A run that fails only there may lack what git ignores.
        there = not (out / "base" / "trace.json").exists() and (out / "head" / "trace.json").exists()
        return CouldNotRun(f"{error}{base.missing() if there else ''}")
    found = both.result
    reached = both.evidence(change(context, base))
    match found.comparison:
        case Identical():
            told = verdict_line(name, found.comparison).partition(": ")[2]
            return Passed("; ".join([told, *in_short(reached)]))
        case NotComparable():
            return CouldNotRun(verdict_line(name, found.comparison).partition(": ")[2])
        case Different(first=first):
            closely = _closely(both, out)
            lines = describe(first)
            detail = "; ".join(["different: " + lines[0], *lines[1:3]])
            place = command_place(context.root, name, detail)
            if isinstance(closely, GoldenError):
                detail += f"; no line of the program is known: {closely}"
            elif closely is not None and (line := program_place(context.root, closely, detail)):
                place = line
                detail += f"; at {place.path}:{place.line}"
            detail = "; ".join([detail, *in_short(reached)])
            return Failed(detail, (place,), _kept(context, found, closely, reached, out))


def _closely(both: Compared, out: Path) -> Localized | GoldenError | None:
    """A second look. The difference stands, whatever that comes to."""
    try:
        return localize(both.result, both.left, both.right, out=out, data=both.data)
    except GoldenError as error:
        return error


def _kept(
    context: Context,
    found: AbResult,
    closely: Localized | GoldenError | None,
    reached: Evidence,
    out: Path,
) -> tuple[Path, ...]:
    """The verdict in words and as a page, beside the traces."""
    if not context.kept:
        return ()
    titles = {"left": found.left.title, "right": found.right.title}
    text = render(found.comparison, **titles) + "\n"
    if isinstance(closely, Localized):
        text += "\n" + render_localized(closely) + "\n"
    files = {out / "verdict.txt": "\n".join([text, *tell(reached), ""])}
    shown = closely if isinstance(closely, Localized) else found
    report = build(shown.left, shown.right, left_title=titles["left"], right_title=titles["right"])
    try:
        from golden.report.page import render_page  # needs jinja2, which is an extra

        files[out / "report.html"] = render_page([report], reached)
    except ModuleNotFoundError as error:
        missing = missing_extra(error, "report.html", "report")
        if missing is None:
            raise
        files[out / "verdict.txt"] += f"\n{missing}\n"
    for path, content in files.items():
        write_whole(path, content)
    return tuple(files)
