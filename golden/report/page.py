"""Comparisons as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from golden.compare.outcome import Different, EventChange, Identical, NotComparable
from golden.reach.evidence import Evidence
from golden.report.build import RunReport, Told, around, final_layers, missing_values, tensor_rows, unkept
from golden.report.cost import reads, timing
from golden.report.facts import dense_command, facts
from golden.report.growth import Growth
from golden.report.headlines import headline
from golden.report.lanes import Lane
from golden.report.plots import growth_svg
from golden.report.reached import shown
from golden.report.strips import Strip, event_strip, step_strip
from golden.report.templates import template
from golden.report.text import KIND_TITLES, describe, env_line, gaps, placed, size_text, tolerance_lines
from golden.trace.errors import ExitCode
from golden.trace.trace import KINDS

_WIDE, _NARROW = (9.4, 3.3), (4.3, 3.5)
_RESTS = 40
_LANES = 60
_TENSORS, _MORE = 12, 200
_FEW = 2


def render_page(reports: Sequence[RunReport | Told], evidence: Evidence | None = None) -> str:
    """The page, with what of a change ran; equal traces give equal bytes. All text from traces is escaped."""
    verdicts = [report.code for report in reports]
    sections = [_section(report, f"run-{number}") for number, report in enumerate(reports)]
    names = ", ".join(dict.fromkeys(report.name for report in reports))
    page = template("page.html.jinja", "golden.report")
    return page.render(
        title=names,
        headline=headline(reports),
        look=_look(verdicts),
        runs=sections,
        reached=shown(evidence) if evidence is not None and evidence.passages else None,
    )


def _look(verdicts: Sequence[ExitCode]) -> str:
    if ExitCode.DIFFERENT in verdicts:
        return "different"
    return "identical" if set(verdicts) == {ExitCode.IDENTICAL} else "unknown"


def _section(report: RunReport | Told, anchor: str) -> dict[str, Any]:
    head = {
        "anchor": anchor,
        "name": report.name,
        "verdict": headline([report]),
        "look": _look([report.code]),
    }
    if isinstance(report, Told):
        return {**head, "told": report.text.splitlines()}
    found = report.comparison
    rows = tensor_rows(report)
    known = [row for row in rows if row.known]
    layers = final_layers(report)
    kinds = [i for i in range(len(KINDS)) if any(row.ulps[i] != "none" for row in layers)]
    # The event timeline shows the changes of events.
    rest = placed([describe(d)[0] for d in report.divergences[1:] if not isinstance(d, EventChange)], found)
    first, *_ = placed([describe(d)[0] for d in report.divergences[:1]], found) or [""]
    return {
        **head,
        "told": [],
        "reason": found.reason if isinstance(found, NotComparable) else "",
        "compared": [] if isinstance(found, NotComparable) else _amounts(found),
        "tolerated": [] if isinstance(found, NotComparable) else tolerance_lines(found.tolerated),
        "gaps": [] if isinstance(found, NotComparable) else gaps(found.compared),
        "first": first,
        "facts": facts(report.divergences[0]) if report.divergences else (),
        "closely": report.closely,
        "around": around(report),
        "tensors": known[:_TENSORS],
        "more_tensors": known[_TENSORS : _TENSORS + _MORE],
        "tensors_left_out": max(0, len(known) - _TENSORS - _MORE),
        "unkept": unkept(rows),
        "missing": missing_values(report),
        "rest": rest[:_RESTS],
        "rest_left_out": max(0, len(rest) - _RESTS),
        "envs": env_line(found.envs) if not isinstance(found, NotComparable) and found.envs else "",
        "lanes": _lane_rows(report)[:_LANES],
        "lanes_left_out": max(0, len(_lane_rows(report)) - _LANES),
        "plots": [_plot(growth, report, f"{anchor}-plot-{n}") for n, growth in enumerate(report.growths)],
        "plots_left_out": report.growths_left_out,
        "layers": layers,
        "layer_kinds": [(i, KIND_TITLES[KINDS[i]].capitalize()) for i in kinds],
        "layer_streams": len({row.stream for row in layers}),
        "timeline": report.timeline,
        "event_strips": (event_strip(report.timeline.left), event_strip(report.timeline.right)),
        "sides": _sides(report),
        "timing": timing(report),
        "reads": reads(report),
    }


def _amounts(found: Identical | Different) -> list[tuple[str, str]]:
    compared = found.compared
    left_out = [("final states not kept", f"{compared.left_out:,}")] if compared.left_out else []
    return [
        ("events", f"{compared.events:,}"),
        ("optimizer steps", f"{compared.steps:,}"),
        ("tensors", f"{compared.tensors:,}"),
        ("of tensors", size_text(compared.bytes)),
        ("scalars", f"{compared.scalars:,}"),
        ("random states", f"{compared.rng_states:,}"),
        ("host reads", f"{compared.reads:,}"),
        *left_out,
    ]


@dataclass(frozen=True, slots=True)
class _LaneRow:
    title: str
    what: str
    strip: Strip
    says: str
    identical: bool


def _lane_rows(report: RunReport) -> list[_LaneRow]:
    """Steps and events by environment, then what belongs to none; what diverges is never left out first."""
    rows: list[tuple[tuple[bool, int], _LaneRow]] = []
    for lane in report.lanes:
        env = lane.stream.env
        (title,) = placed([lane.stream.title], report.comparison)
        rows.append(((env is None, env or 0), _step_row(lane, title)))
    for env, marks in report.timeline.by_env.items():
        changed = sum(mark != "same" for mark in marks)
        says = f"{changed:,} of {len(marks):,} differ" if changed else "identical"
        rows.append(((False, env), _LaneRow(f"env {env}", "events", event_strip(marks), says, not changed)))
    rows.sort(key=lambda row: row[0])
    if len(rows) > _LANES:
        rows.sort(key=lambda row: (row[1].identical, row[0]))
    return [row for _, row in rows]


def _step_row(lane: Lane, title: str) -> _LaneRow:
    says = "identical" if lane.first is None else f"differs from step {lane.first}"
    return _LaneRow(title, "steps", step_strip(lane), says, lane.first is None)


def _plot(growth: Growth, report: RunReport, name: str) -> dict[str, Any]:
    """One stream's plot in two shapes, and in words what of it is known."""
    said = []
    if growth.total > growth.kept:
        of = f"{growth.kept:,} of the {growth.total:,}"
        said.append(f"Both sides kept the tensors of {of} steps whose tensors differ; others have no point.")
    if growth.stride > 1:
        said.append(f"Every {growth.stride}th step is read.")
    lane = next(lane for lane in report.lanes if lane.stream == growth.stream)
    pair = lane.pairs[lane.first or 0]
    step = pair.left or pair.right
    command = dense_command(report.name, step.number) if step and growth.kept < growth.total else ""
    shapes = {"wide": _WIDE, "narrow": _NARROW} if growth.known and len(growth.steps) > _FEW else {}
    return {
        "title": growth.stream.title,
        "said": " ".join(said),
        "command": command,
        # matplotlib sees numbers and our own words only, so its drawing holds nothing to escape.
        "shapes": [
            (shape, Markup(growth_svg(growth, name=f"{name}-{shape}", size=size)))
            for shape, size in shapes.items()
        ],
        "summary": _growth_text(growth),
    }


def _growth_text(growth: Growth) -> str:
    parts = []
    for line in growth.lines:
        known = [(step, ulps) for step, ulps in zip(growth.steps, line.ulps, strict=True) if ulps]
        if not known:
            continue
        (first, start), (last, end) = known[0], known[-1]
        until = f" to {end:,} at step {last}" if last > first else ""
        parts.append(
            f"{KIND_TITLES[line.kind]} {start:,} {'ulp' if start == 1 else 'ulps'} at step {first}{until}"
        )
    return f"Largest distance: {'; '.join(parts)}." if parts else "No distance in ulps is known."


def _sides(report: RunReport) -> list[tuple[str, str, str]]:
    a, b = report.left.about, report.right.about
    rows = [
        ("trace", report.left_title, report.right_title),
        ("label", a.label, b.label),
        ("command", " ".join(a.argv), " ".join(b.argv)),
        ("seed", str(a.seed), str(b.seed)),
        ("processes", str(len(a.processes)), str(len(b.processes))),
    ]
    names = dict.fromkeys([*a.fingerprint, *b.fingerprint])
    return [*rows, *((n, a.fingerprint.get(n, "unknown"), b.fingerprint.get(n, "unknown")) for n in names)]
