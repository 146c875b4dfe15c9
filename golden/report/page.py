"""One comparison as a self-contained page, as Markdown, and as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import jinja2

from golden.compare import Comparison, Different
from golden.compare.events import compare_events
from golden.compare.growth import StepGap, gaps
from golden.compare.outcome import EventChange
from golden.report.plots import growth_plot
from golden.report.text import amounts, describe, env_line, render
from golden.trace.errors import ExitCode
from golden.trace.events import Event
from golden.trace.trace import Trace

_VERDICTS = {
    ExitCode.IDENTICAL: "identical",
    ExitCode.DIFFERENT: "different",
    ExitCode.NOTHING_COMPARABLE: "not comparable",
}
_CELLS_AT_MOST = 160
_EVENTS_AROUND = 6
_PLACES_AT_MOST = 15
_MARKDOWN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Strip:
    """One stream as cells, each covering some steps: equal, different or missing."""

    title: str
    cells: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class EventRow:
    """One line of the timeline: an event on each side, and how they relate."""

    left: str
    right: str
    mark: str


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quantity on both sides."""

    name: str
    left: str
    right: str
    ratio: str


def html_page(left: Trace, right: Trace, found: Comparison) -> str:
    """Everything on one page that needs no other file."""
    pairs = list(zip(left.processes, right.processes, strict=False))
    steps = [gap for a, b in pairs for gap in gaps(a, b)]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("golden.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    different = found if isinstance(found, Different) else None
    return environment.get_template("page.html.jinja").render(
        verdict=_VERDICTS[found.code],
        left=left,
        right=right,
        text=render(found, left=left.title, right=right.title),
        compared=amounts(found.compared) if hasattr(found, "compared") else "",
        first=describe(different.first) if different else [],
        rest=[describe(d)[0] for d in different.rest[:40]] if different else [],
        rest_count=len(different.rest) if different else 0,
        env_line=env_line(different.envs) if different and different.envs else "",
        strips=strips(steps),
        plot=growth_plot(steps) if different and steps else "",
        events=timeline(left.events, right.events),
        counts=_counts(left, right),
        ratios=ratios(left, right),
        fingerprint=_fingerprints(left, right),
    )


def strips(steps: Sequence[StepGap]) -> list[Strip]:
    """The strip of every stream, environments first."""
    by_stream: dict[str, list[StepGap]] = {}
    for gap in sorted(steps, key=lambda g: (g.stream.process, g.stream.env is None, g.stream.env or 0)):
        by_stream.setdefault(gap.stream.title, []).append(gap)
    found = []
    for title, mine in by_stream.items():
        size = -(-len(mine) // _CELLS_AT_MOST)
        chunks = [mine[start : start + size] for start in range(0, len(mine), size)]
        cells = tuple("equal" if all(g.equal for g in chunk) else "different" for chunk in chunks)
        first = next((gap.step for gap in mine if not gap.equal), None)
        note = f"all {len(mine)} steps equal" if first is None else f"first at step {first} of {len(mine)}"
        found.append(Strip(title, cells, note))
    return found


def timeline(left: Sequence[Event], right: Sequence[Event]) -> list[EventRow]:
    """Events of both sides around the first change; empty if nothing changed."""
    changes = compare_events(left, right)
    if not changes:
        return []
    first = changes[0]
    i = first.left if first.left is not None else first.right or 0
    j = first.right if first.right is not None else i
    before = min(i, j, _EVENTS_AROUND)
    removed = {c.left: c for c in changes if c.left is not None}
    added = {c.right: c for c in changes if c.right is not None}
    i, j = i - before, j - before
    rows: list[EventRow] = []
    while (i < len(left) or j < len(right)) and len(rows) < 3 * _EVENTS_AROUND:
        gone, come = removed.get(i), added.get(j)
        if gone is not None and gone.change in ("missing", "moved") and i < len(left):
            rows.append(EventRow(_title(left, i), "", gone.change))
            i += 1
        elif come is not None and come.change in ("extra", "moved") and j < len(right):
            rows.append(EventRow("", _title(right, j), come.change))
            j += 1
        else:
            rows.append(EventRow(_title(left, i), _title(right, j), _mark(gone)))
            i, j = i + 1, j + 1
    return rows


def _mark(change: EventChange | None) -> str:
    if change is None:
        return ""
    return "changed: " + ", ".join(field.path for field in change.fields[:4])


def _title(events: Sequence[Event], index: int) -> str:
    if index >= len(events):
        return ""
    event = events[index]
    return f"{index} {event.kind}" + (f", env {event.env}" if event.env is not None else "")


def _counts(left: Trace, right: Trace) -> list[tuple[str, int, int]]:
    a, b = left.about.counts, right.about.counts
    return [(kind, a.get(kind, 0), b.get(kind, 0)) for kind in sorted({*a, *b})]


def ratios(left: Trace, right: Trace) -> list[Ratio]:
    """Seconds, observing cost and host reads of both sides; they never decide a verdict."""
    rows = [_ratio("whole run, s", left.about.seconds, right.about.seconds)]
    a, b = (sum(p.seconds for p in t.processes) for t in (left, right))
    rows.append(_ratio("since torch was imported, s", a, b))
    a, b = (sum(p.observing for p in t.processes) for t in (left, right))
    rows.append(_ratio("of it observing, s", a, b))
    reads: list[dict[str, int]] = []
    for trace in (left, right):
        merged: dict[str, int] = {}
        for process in trace.processes:
            for place, count in process.syncs.items():
                merged[place] = merged.get(place, 0) + count
        reads.append(merged)
    rows.append(_ratio("host reads, all", sum(reads[0].values()), sum(reads[1].values())))
    places = sorted({*reads[0], *reads[1]}, key=lambda p: -max(reads[0].get(p, 0), reads[1].get(p, 0)))
    rows += [
        _ratio(f"host reads, {p}", reads[0].get(p, 0), reads[1].get(p, 0)) for p in places[:_PLACES_AT_MOST]
    ]
    return rows


def _ratio(name: str, left: float, right: float) -> Ratio:
    shown = [f"{value:,}" if isinstance(value, int) else f"{value:.3f}" for value in (left, right)]
    return Ratio(name, shown[0], shown[1], f"{right / left:.2f}" if left else "")


def _fingerprints(left: Trace, right: Trace) -> list[tuple[str, str, str]]:
    a, b = left.about.fingerprint, right.about.fingerprint
    return [(name, a.get(name, ""), b.get(name, "")) for name in dict.fromkeys([*a, *b])]


def markdown(left: Trace, right: Trace, found: Comparison) -> str:
    """A summary for a pull request, below the size that services accept."""
    body = render(found, left=left.title, right=right.title)
    text = f"### golden: {left.about.run}: {_VERDICTS[found.code]}\n\n```text\n{body}\n```\n"
    if len(text.encode()) < _MARKDOWN_BYTES:
        return text
    return text.encode()[: _MARKDOWN_BYTES - 100].decode(errors="ignore") + "\n```\n\n(cut: too long)\n"


def junit(results: Sequence[tuple[str, Comparison, float]]) -> str:
    """JUnit XML of comparisons: name, verdict, seconds."""
    failures = sum(found.code == ExitCode.DIFFERENT for _, found, _ in results)
    errors = sum(found.code == ExitCode.NOTHING_COMPARABLE for _, found, _ in results)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="golden" tests="{len(results)}" failures="{failures}" errors="{errors}">',
    ]
    for name, found, seconds in results:
        lines.append(f'  <testcase classname="golden" name={quoteattr(name)} time="{seconds:.3f}">')
        if found.code != ExitCode.IDENTICAL:
            tag = "failure" if found.code == ExitCode.DIFFERENT else "error"
            text = render(found)
            lines.append(f"    <{tag} message={quoteattr(text.splitlines()[0])}>{escape(text)}</{tag}>")
        lines.append("  </testcase>")
    return "\n".join([*lines, "</testsuite>", ""])
