"""A golden run at the base and here: same, or where they part, with all that shows it."""

from __future__ import annotations

from pathlib import Path

from ci.base import Base
from ci.checks.check import Context
from ci.checks.places import command_place, folder_of, program_place
from ci.checks.sides import runs_of
from ci.verdicts import CouldNotRun, Failed, Passed, Verdict
from golden.check import AbResult, Side, ab
from golden.check.fixtures import write_whole
from golden.check.localize import Localized, localize
from golden.compare import Different, Identical, NotComparable
from golden.extras import missing_extra
from golden.report import render, render_localized
from golden.report.build import build
from golden.report.headlines import verdict_line
from golden.report.text import describe
from golden.trace.errors import GoldenError


def against(context: Context, base: Base, name: str) -> Verdict:
    """Run both versions; where they differ, run both again, closely, to find the line."""
    pair = runs_of(context, base, name)
    left = Side(f"{name} at {base.ref}", pair.base, base.runnable)
    right = Side(f"{name} here", pair.head, context.root)
    out, data = context.scratch / folder_of(name), pair.head.data_folder(context.data)
    try:
        base.share(pair.data)
        found = ab(left, right, out=out, data=data)
    except GoldenError as error:
        # A run that fails only there may lack what git ignores.
        there = not (out / "base" / "trace.json").exists() and (out / "head" / "trace.json").exists()
        return CouldNotRun(f"{error}{base.missing() if there else ''}")
    match found.comparison:
        case Identical():
            return Passed(verdict_line(name, found.comparison).partition(": ")[2])
        case NotComparable():
            return CouldNotRun(verdict_line(name, found.comparison).partition(": ")[2])
        case Different(first=first):
            closely = _closely(found, left, right, out, data)
            lines = describe(first)
            detail = "; ".join(["different: " + lines[0], *lines[1:3]])
            place = command_place(context.root, name, detail)
            if isinstance(closely, GoldenError):
                detail += f"; no line of the program is known: {closely}"
            elif closely is not None and (line := program_place(context.root, closely, detail)):
                place = line
                detail += f"; at {place.path}:{place.line}"
            return Failed(detail, (place,), _kept(context, found, closely, out))


def _closely(
    found: AbResult, left: Side, right: Side, out: Path, data: Path | None
) -> Localized | GoldenError | None:
    """A second look. The difference stands, whatever that comes to."""
    try:
        return localize(found, left, right, out=out, data=data)
    except GoldenError as error:
        return error


def _kept(
    context: Context, found: AbResult, closely: Localized | GoldenError | None, out: Path
) -> tuple[Path, ...]:
    """The verdict in words and as a page, beside the traces."""
    if not context.kept:
        return ()
    titles = {"left": found.left.title, "right": found.right.title}
    text = render(found.comparison, **titles) + "\n"
    if isinstance(closely, Localized):
        text += "\n" + render_localized(closely) + "\n"
    files = {out / "verdict.txt": text}
    try:
        from golden.report.page import render_page
    except ModuleNotFoundError as error:
        why = missing_extra(error, "report.html", "report")
        if why is None:
            raise
        files[out / "verdict.txt"] += f"\n{why}\n"
    else:
        shown = closely if isinstance(closely, Localized) else found
        report = build(shown.left, shown.right, left_title=titles["left"], right_title=titles["right"])
        files[out / "report.html"] = render_page([report])
    for path, content in files.items():
        write_whole(path, content)
    return tuple(files)
