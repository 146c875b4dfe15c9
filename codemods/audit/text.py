"""The report as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codemods.audit.report import (
    Answer,
    Capture,
    FunctionReport,
    HelperReport,
    LoopReport,
    Report,
    SeamReport,
)
from codemods.rewrites.refusals import Refusal
from esper_harness.report.plain import columns


def render_text(report: Report) -> str:
    """Write the whole report."""
    lines = [f"{report.path}: {report.lines} line{'' if report.lines == 1 else 's'}"]
    if report.accepted:
        lines.append(f"accepted: {', '.join(report.accepted)}")
    for function in report.functions:
        lines += ["", *_function(function)]
    if not report.functions:
        lines.append("no function with helpers")
    if report.other_seams:
        lines += ["", "seams that none of these functions reads", *_seams(report.other_seams)]
    return "\n".join([*lines, *_definitions(report)]) + "\n"


def _told(answer: Answer) -> str:
    return f"refused: {answer.refusal.code}" if answer.refusal else answer.status


def _definitions(report: Report) -> Iterator[str]:
    """List what of the module itself a plan could move, and a plan."""
    if report.definitions is None:
        return
    yield ""
    yield "what a plan could move of the module itself" if report.definitions else "nothing is defined in it"
    staying: dict[Refusal, list[str]] = {}
    for each in report.definitions:
        if each.answer.refusal:
            staying.setdefault(each.answer.refusal, []).append(each.name)
    rows = [
        (
            each.name,
            f"{each.line}-{each.end_line}",
            _told(each.answer),
            f"reads {', '.join(each.needs)}" if each.needs else "",
        )
        for each in report.definitions
    ]
    yield from columns(rows, "  ")
    for refusal, names in staying.items():
        yield ""
        yield f"  {', '.join(names)}: {refusal.code}, line {refusal.line}: {refusal.reason}"
        yield f"    way out: {refusal.way_out}"
    if report.loop is not None:
        yield from _loop(report.loop)
    yield ""
    if report.plan is None:
        yield f"no plan: {report.no_plan}"
        return
    yield (
        "a plan (carried out in memory); save it as plan.toml and see what it does with: "
        "codemods extract --plan plan.toml"
    )
    yield ""
    yield report.plan.rstrip("\n")


def _loop(loop: LoopReport) -> Iterator[str]:
    yield ""
    where = f"the longest loop: lines {loop.line}-{loop.end_line}, in {loop.function}"
    if (refusal := loop.answer.refusal) is None:
        yield f"{where}; {f'no plan: {loop.no_plan}' if loop.no_plan else 'a plan makes a class of it'}"
        return
    yield f"{where}; refused: {refusal.code}, line {refusal.line}: {refusal.reason}"
    yield f"  way out: {refusal.way_out}"


def _function(function: FunctionReport) -> Iterator[str]:
    lines = function.end_line - function.line + 1
    yield (
        f"{function.qualname}  lines {function.line}-{function.end_line} ({lines}, "
        f"{function.own_lines} of them outside helpers)"
    )
    if function.helpers:
        yield ""
        rows = [
            ("helper", "lines", "captures", "calls", "values", "lift"),
            *(
                (
                    _short(helper.qualname, function),
                    f"{helper.line}-{helper.end_line}",
                    str(len(helper.captures)),
                    str(len(helper.calls)),
                    str(len(helper.values)),
                    _told(helper.here),
                )
                for helper in function.helpers
            ),
        ]
        yield from columns(rows, "  ")
    for helper in function.helpers:
        yield ""
        yield from _helper(helper, function)
    yield ""
    if function.seams is None:
        yield "  seams: not searched (--tests DIR searches it)"
    else:
        yield f"  seams: {len(function.seams)}"
        yield from _seams(function.seams)


def _helper(helper: HelperReport, function: FunctionReport) -> Iterator[str]:
    yield f"  {_short(helper.qualname, function)}"
    if (refusal := helper.here.refusal) is not None:
        yield f"    refused: {refusal.code}, line {refusal.line}: {refusal.reason}"
        yield f"    way out: {refusal.way_out}"
    else:
        yield f"    lift, passing: {', '.join(helper.here.passed) or 'nothing'}"
    yield f"    into another file: {_elsewhere(helper)}"
    for capture in helper.captures:
        yield f"    captures {capture.name}: {_binding(capture, function)}"
    for kind, places in (("called", helper.calls), ("used as a value", helper.values)):
        for place in places:
            inside = place.function == function.qualname
            where = "the function itself" if inside else _short(place.function, function)
            yield f"    {kind} in {where}, line {place.line}"


def _seams(seams: Sequence[SeamReport]) -> Iterator[str]:
    for seam in seams:
        yield f"    {seam.name}: read by {', '.join(seam.read_by) or 'nothing in this file'}"
        yield from columns(
            [(f"{p.path}:{p.line}", p.how, f"in {p.test}" if p.test else "") for p in seam.places], "      "
        )


def _short(qualname: str, function: FunctionReport) -> str:
    return qualname.removeprefix(function.qualname + ".")


def _binding(capture: Capture, function: FunctionReport) -> str:
    """Name the binding of a capture."""
    kind = {"import": "imported inside", "helper": "another helper"}.get(capture.bound_as, capture.bound_as)
    owner = "" if capture.owner == function.qualname else f" of {_short(capture.owner, function)}"
    lines = f", line{'' if len(capture.bound) == 1 else 's'} {', '.join(map(str, capture.bound))}"
    return kind + owner + (lines if capture.bound else "")


def _elsewhere(helper: HelperReport) -> str:
    """Describe a lift into another file beyond one within the file."""
    if (refusal := helper.elsewhere.refusal) is not None:
        if refusal == helper.here.refusal:
            return "refused for the same reason"
        return f"refused: {refusal.code}, line {refusal.line}: {refusal.reason}"
    more = [name for name in helper.elsewhere.passed if name not in helper.here.passed]
    return f"lift; also passed: {', '.join(more)}" if more and not helper.here.refusal else "lift"
