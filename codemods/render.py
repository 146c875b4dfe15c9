"""Reports as text, JSON and diffs."""

from __future__ import annotations

import difflib
import io
from typing import TYPE_CHECKING

from codemods.program.nodes import ANY_NAME
from codemods.program.source import split_lines
from esper_harness.report.plain import columns

if TYPE_CHECKING:
    from codemods.plans.report import AcceptedAssumption, FileChange, HelperReport, Report
    from codemods.rewrites.leftovers import KeptImport


def line_count(data: bytes | None) -> int:
    """Lines of a file; none where there is no file."""
    return len(split_lines(data.decode("utf-8", "replace"))) if data is not None else 0


def as_json(report: Report) -> str:
    """The report as one JSON object."""
    from esper_harness.report.json import json_text

    document = {
        "version": 1,
        "files": [
            {"path": f.shown, "lines_before": line_count(f.before), "lines_after": line_count(f.after)}
            for f in report.files
        ],
        "helpers": [
            {
                "name": helper.name,
                "qualname": helper.qualname,
                "path": helper.path,
                "line": helper.line,
                "status": helper.status,
                "code": helper.refusal.code if helper.refusal else None,
                "reason": f"line {r.line}: {r.reason}; {r.way_out}" if (r := helper.refusal) else None,
                "captures": list(helper.captures),
                "target": helper.target,
                "call_sites": helper.call_sites,
            }
            for helper in report.helpers
        ],
        "imports": report.imports,
        "accepted": report.accepted,
    }
    return json_text(document)


def as_diff(report: Report) -> str:
    """A unified diff of all files that ``git apply`` takes."""
    return "".join(_diff(change) for change in report.files if change.changed)


def _diff(change: FileChange) -> str:
    before = split_lf(change.before or b"")
    after = split_lf(change.after)
    created = change.before is None
    head = f"diff --git a/{change.shown} b/{change.shown}\n"
    if created:
        head += "new file mode 100644\n"
    lines = list(
        difflib.unified_diff(
            before, after, "/dev/null" if created else f"a/{change.shown}", f"b/{change.shown}", lineterm="\n"
        )
    )
    body = "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )
    return head + body


def split_lf(data: bytes) -> list[str]:
    """Lines as git sees them: ended by LF alone."""
    return list(io.StringIO(data.decode("utf-8", "surrogateescape"), newline="\n"))


def as_text(report: Report) -> str:
    """Write a table of helpers, the reasons of the refused ones, and the line counts."""
    lines = columns([("helper", "line", "status", "calls", "to", "captures"), *map(_row, report.helpers)])
    if not report.helpers:
        lines = ["no helpers"]
    for helper in report.refused:
        assert helper.refusal is not None
        refusal = helper.refusal
        lines.append(f"{helper.path}:{refusal.line}: {refusal.code}: {helper.qualname}: {refusal.reason}")
        lines.append(f"    way out: {refusal.way_out}")
    for stayed, names in _stayed(report):
        what = "import" if len(names) == 1 else "imports"
        lines.append(f"{stayed.path}:{stayed.line}: {what} of {', '.join(names)} kept: {stayed.reason}")
    lines += map(_accepted, report.accepted)
    for seam in report.seams:
        advice = "; which name can't be told: list it under [seams] keep" if seam.name == ANY_NAME else ""
        lines.append(f"seam {seam.name}: replaced in {seam.path}:{seam.line}{advice}")
    if report.files:
        counts = [(f.shown, _count(f.before), _count(f.after)) for f in report.files]
        lines += columns([("file", "lines before", "lines after"), *counts])
    return "\n".join(lines) + "\n"


def _row(helper: HelperReport) -> tuple[str, ...]:
    status = helper.refusal.code if helper.refusal else helper.status
    target = helper.target.rpartition("/")[2] if helper.target else "-"
    captures = ", ".join(helper.captures) or "-"
    return helper.qualname, str(helper.line), status, str(helper.call_sites), target, captures


def _count(data: bytes | None) -> str:
    return "-" if data is None else str(line_count(data))


def _accepted(accepted: AcceptedAssumption) -> str:
    """An assumption that the user accepts, what speaks against it, and how it is confirmed."""
    if not accepted.overruled:
        return f"accepted {accepted.code}: nothing is refused for it here; leave the acceptance out"
    rows = [f"accepted {accepted.code} ({accepted.reason}): {accepted.assumption}"]
    rows += [f"    {each.name}: line {each.line}: {each.reason}" for each in accepted.overruled]
    rows.append("    confirm it with a run that reaches these lines: golden ab --base HEAD RUN")
    return "\n".join(rows)


def _stayed(report: Report) -> list[tuple[KeptImport, list[str]]]:
    """Imports that stay, those of one file together that stay for one reason."""
    found: dict[tuple[str, str], tuple[KeptImport, list[str]]] = {}
    for stayed in report.imports:
        found.setdefault((stayed.path, stayed.reason), (stayed, []))[1].append(stayed.name)
    return list(found.values())
