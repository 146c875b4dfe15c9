"""The report as plain text for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from codemods.audit.report import (
    Capture,
    FunctionReport,
    HelperReport,
    Refused,
    Report,
    SeamReport,
)


def render_text(report: Report) -> str:
    """Write the whole report."""
    read = ["the repository"] if report.tried else []
    read += [f"for seams, {', '.join(report.tests)}"] if report.tests else []
    lines = [f"{report.path}: {_count(report.lines, 'line')}; read: {'; '.join(read) or 'this file alone'}"]
    for function in report.functions:
        lines += ["", *_function(function)]
    if not report.functions:
        lines.append("no function with helpers")
    return "\n".join([*lines, *_module(report), *_definitions(report)]) + "\n"


def render_refusals(report: Report) -> str:
    """Write only the refused helpers, a line each."""
    return "".join(
        f"{report.path}:{refused.line}: {refused.code}: {helper.qualname} stays: {refused.reason}\n"
        for helper, refused in report.refused
    )


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Align rows in columns, the last one ragged."""
    if not rows:
        return []
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def _definitions(report: Report) -> Iterator[str]:
    """List what of the module itself a plan could move, and a plan."""
    if report.definitions is None:
        return
    yield ""
    yield "what a plan could move of the module itself" if report.definitions else "nothing is defined in it"
    rows = []
    staying: dict[Refused, list[str]] = {}
    for row in report.definitions:
        span = str(row.line) if row.line == row.end_line else f"{row.line}-{row.end_line}"
        answer = "stays, as what is run" if row.moved is None else "move"
        if isinstance(row.moved, Refused):
            answer = f"refused: {row.moved.code}"
            staying.setdefault(row.moved, []).append(row.name)
        rows.append((row.kind, row.name, span, answer, f"reads {', '.join(row.needs)}" if row.needs else ""))
    yield from columns(rows)
    for refused, names in staying.items():
        stay = "stays" if len(names) == 1 else "stay"
        yield ""
        yield f"  {', '.join(names)} {stay}: {refused.code}, line {refused.line}: {refused.reason}"
        yield f"    way out: {refused.way_out}"
    yield ""
    if report.plan is None:
        yield f"no plan: {report.no_plan}"
        return
    tried, where = "not tried yet", ""
    if report.tried:
        tried, where = "carried out in memory", " --root ."
    yield (
        f"a plan ({tried}); save it as plan.toml and see what it does with: "
        f"codemods extract --plan plan.toml{where}"
    )
    yield ""
    yield report.plan.rstrip("\n")


def _function(function: FunctionReport) -> Iterator[str]:
    yield (
        f"{function.qualname}  lines {function.line}-{function.end_line} ({function.lines}, "
        f"{function.own_lines} of them outside helpers)"
    )
    if function.helpers:
        rows = [("helper", "lines", "captures", "calls", "values", "lift")]
        rows += [
            (
                _short(helper.qualname, function),
                f"{helper.line}-{helper.end_line}",
                str(len(helper.captures)),
                str(len(helper.calls)),
                str(len(helper.values)),
                f"refused: {helper.strategy.code}" if isinstance(helper.strategy, Refused) else "lift",
            )
            for helper in function.helpers
        ]
        yield ""
        yield from columns(rows)
    for helper in function.helpers:
        yield ""
        yield from _helper(helper, function)
    if function.loop is not None and function.loop.groups:
        yield ""
        yield from _state(function)
    yield ""
    yield from _surroundings(function)


def _helper(helper: HelperReport, function: FunctionReport) -> Iterator[str]:
    yield f"  {_short(helper.qualname, function)}"
    if isinstance(helper.strategy, Refused):
        refused = helper.strategy
        yield f"    refused: {refused.code}, line {refused.line}: {refused.reason}"
        yield f"    way out: {refused.way_out}"
    else:
        yield f"    lift, passing: {', '.join(helper.strategy.passed) or 'nothing'}"
    yield f"    into another file: {_moved(helper)}"
    for capture in helper.captures:
        yield f"    captures {capture.name}: {_binding(capture, function)}"
    for kind, places in (("called", helper.calls), ("used as a value", helper.values)):
        for place in places:
            yield f"    {kind} in {_where(place.function, function)}, line {place.line}"


def _state(function: FunctionReport) -> Iterator[str]:
    """The `[loop.state]` that is proposed for a function, ready for a plan."""
    assert function.loop is not None
    fields, groups = len(function.loop.fields), function.loop.groups
    left = fields - sum(len(group.names) for group in groups) + len(groups)
    yield (
        f"  the loop in line {function.loop.line} needs {_count(fields, 'variable')} of the function; in "
        f"groups of names that are used together, its class has {_count(left, 'field')} for them:"
    )
    yield "    [loop.state]"
    for group in groups:
        quoted = [json.dumps(name) for name in group.names]
        line = f"{group.name} = [{', '.join(quoted)}]"
        if len(line) <= 100:
            yield f"    {line}"
        else:
            yield f"    {group.name} = ["
            yield from (f"        {name}," for name in quoted)
            yield "    ]"


def _surroundings(function: FunctionReport) -> Iterator[str]:
    if function.seams is None:
        yield "  seams: not searched (--tests DIR searches it)"
    else:
        yield f"  seams: {len(function.seams)}"
        for seam in function.seams:
            yield from _seam(seam)


def _seam(seam: SeamReport) -> Iterator[str]:
    readers = ", ".join(seam.read_by) or "nothing in this file"
    yield f"    {seam.name}: read by {readers}"
    yield from columns(
        [(f"{p.path}:{p.line}", p.how, f"in {p.test}" if p.test else "") for p in seam.places], "      "
    )


def _module(report: Report) -> Iterator[str]:
    if report.other_seams:
        yield ""
        yield "seams that none of these functions reads"
        for seam in report.other_seams:
            yield from _seam(seam)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _lines(lines: Iterable[int]) -> str:
    texts = [str(line) for line in lines]
    return f"line{'' if len(texts) == 1 else 's'} {', '.join(texts)}"


def _short(qualname: str, function: FunctionReport) -> str:
    return qualname.removeprefix(function.qualname + ".")


def _where(qualname: str, function: FunctionReport) -> str:
    return "the function itself" if qualname == function.qualname else _short(qualname, function)


def _binding(capture: Capture, function: FunctionReport) -> str:
    """Name the binding of a capture."""
    kind = {"import": f"imported inside: {capture.origin}", "helper": "another helper"}.get(
        capture.bound_as, capture.bound_as
    )
    owner = "" if capture.owner == function.qualname else f" of {_short(capture.owner, function)}"
    return f"{kind}{owner}, {_lines(capture.bound)}" if capture.bound else f"{kind}{owner}"


def _moved(helper: HelperReport) -> str:
    """Describe a lift into another file beyond one within the file."""
    if isinstance(helper.moved, Refused):
        if helper.moved == helper.strategy:
            return "refused for the same reason"
        return f"refused: {helper.moved.code}, line {helper.moved.line}: {helper.moved.reason}"
    if isinstance(helper.strategy, Refused):
        return "lift"
    more = [name for name in helper.moved.passed if name not in helper.strategy.passed]
    return f"lift; also passed: {', '.join(more)}" if more else "lift"
