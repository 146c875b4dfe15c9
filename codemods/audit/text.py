"""The report as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codemods.audit import wording
from codemods.audit.report import FunctionReport, HelperReport, Refused, Report, SeamReport


def render_text(report: Report, *, statistics: bool) -> str:
    """The whole report."""
    lines = [f"{report.path}: {wording.count(report.lines, 'line')}; read: {wording.searched(report)}"]
    for function in report.functions:
        lines += ["", *_function(function)]
    if not report.functions:
        lines.append("no function with helpers")
    lines += _module(report)
    lines += _definitions(report)
    if statistics:
        lines += ["", *render_statistics(report)]
    return "\n".join(lines) + "\n"


def _definitions(report: Report) -> Iterator[str]:
    """What of the module itself a plan could move, and a plan."""
    if report.definitions is None:
        return
    yield ""
    yield "what a plan could move of the module itself" if report.definitions else "nothing is defined in it"
    yield from columns(
        [
            (
                row.kind,
                row.name,
                wording.span(row),
                wording.move(row),
                f"reads {', '.join(row.needs)}" if row.needs else "",
            )
            for row in report.definitions
        ]
    )
    staying: dict[Refused, list[str]] = {}
    for row in report.definitions:
        if isinstance(row.moved, Refused):
            staying.setdefault(row.moved, []).append(row.name)
    for refused, names in staying.items():
        stay = "stays" if len(names) == 1 else "stay"
        yield ""
        yield f"  {', '.join(names)} {stay}: {refused.code}, line {refused.line}: {refused.reason}"
        yield f"    way out: {refused.way_out}"
    yield ""
    if report.plan is None:
        yield f"no plan: {report.no_plan}"
        return
    yield wording.plan(report)
    yield ""
    yield report.plan.rstrip("\n")


def render_refusals(report: Report) -> str:
    """Only the refused helpers, a line each."""
    return "".join(
        f"{report.path}:{refused.line}: {refused.code}: {helper.qualname} stays: {refused.reason}\n"
        for helper, refused in report.refused
    )


def render_statistics(report: Report) -> list[str]:
    """Counts, a line each."""
    rows = wording.statistics(report)
    width = max(len(str(number)) for _, number in rows)
    return [f"{number:>{width}}  {name}" for name, number in rows]


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows as aligned columns, the last one ragged."""
    if not rows:
        return []
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def _function(function: FunctionReport) -> Iterator[str]:
    yield (
        f"{function.qualname}  lines {function.line}-{function.end_line} ({function.lines}, "
        f"{function.own_lines} of them outside helpers)"
    )
    if function.helpers:
        rows = [("helper", "lines", "captures", "calls", "values", "lift")]
        rows += [
            (
                wording.short_name(helper.qualname, function),
                f"{helper.line}-{helper.end_line}",
                str(len(helper.captures)),
                str(len(helper.calls)),
                str(len(helper.values)),
                wording.verdict(helper.strategy),
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
        yield f"  {wording.loop(function)}:"
        yield from (f"    {line}" for line in wording.state(function))
    yield ""
    yield from _surroundings(function)


def _helper(helper: HelperReport, function: FunctionReport) -> Iterator[str]:
    yield f"  {wording.definition(helper)}"
    if isinstance(helper.strategy, Refused):
        refused = helper.strategy
        yield f"    refused: {refused.code}, line {refused.line}: {refused.reason}"
        yield f"    way out: {refused.way_out}"
    else:
        yield f"    lift, passing: {', '.join(helper.strategy.passed) or 'nothing'}"
    yield f"    into another file: {wording.moved(helper)}"
    if helper.context:
        yield f"    {wording.context(helper)}"
    for decorator in helper.decorators:
        yield f"    decorator: @{decorator}"
    for capture in helper.captures:
        rebound = f"; rebound, {wording.at_lines(capture.rebound)}" if capture.rebound else ""
        bound = wording.bound_at_uses(capture, helper)
        unbound = "" if bound == "yes" else f"; bound at uses: {bound}"
        yield f"    captures {capture.name}: {wording.binding(capture, function)}{rebound}{unbound}"
    for mutation in helper.mutates:
        yield f"    changes {mutation.target} ({mutation.via} of a {mutation.of}), line {mutation.line}"
    for name in helper.globals:
        if name.kind != "builtin":
            yield f"    global {name.name}: {wording.origin(name)}"
    for kind, places in (("called", helper.calls), ("used as a value", helper.values)):
        for place in places:
            yield f"    {kind} in {wording.where(place.function, function)}, line {place.line}"


def _surroundings(function: FunctionReport) -> Iterator[str]:
    if function.references is None:
        yield "  uses in the repository: not searched (--root DIR searches it)"
    else:
        yield f"  uses in the repository: {len(function.references)}"
        yield from columns(
            [
                (f"{use.path}:{use.line}", use.kind, f"in {use.function}" if use.function else "")
                for use in function.references
            ],
            "    ",
        )
    if function.seams is None:
        yield "  seams: not searched (--tests DIR searches it)"
    else:
        yield f"  seams: {len(function.seams)}"
        for seam in function.seams:
            yield from _seam(seam)
    yield f"  lazy imports: {len(function.lazy_imports)}"
    for lazy in function.lazy_imports:
        yield f"    {lazy.name} from {lazy.target}, line {lazy.line}: {wording.why_lazy(lazy)}"
    yield f"  device syncs: {len(function.syncs)}"
    yield from columns(
        [
            (
                str(sync.line),
                sync.text,
                f"in {wording.where(sync.function, function)}",
                f"loop: {sync.loops[-1]}" if sync.loops else "no loop",
                f"after the fence in line {sync.fence}" if sync.fence is not None else "no fence before it",
            )
            for sync in function.syncs
        ],
        "    ",
    )
    yield f"  fenced regions: {len(function.regions)}"
    for region in function.regions:
        where = wording.where(region.function, function)
        yield f"    {region.loop or 'outside of loops'}, in {where}: {wording.waits(region)}"
        yield from columns(
            [
                (str(step.line), step.kind, step.text, step.inner[-1] if step.inner else "")
                for step in region.steps
            ],
            "      ",
        )


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
    if report.pulled is not None:
        yield ""
        own = wording.count(len(report.pulled.modules), "module")
        yield f"importing {report.module} imports {own} of the repository"
        for chain in report.pulled.heavy:
            yield f"  heavy: {chain[-1]}, by {' -> '.join(chain[:-1])}"
        if report.pulled.third_party:
            yield f"  also: {', '.join(report.pulled.third_party)}"
    for path in report.unread or ():
        yield ""
        yield f"not read: {path} is not valid Python"
    if report.taken:
        yield ""
        yield "names that other files take from this one"
        yield from columns([(name, ", ".join(places)) for name, places in wording.taken(report).items()])
