"""Results for a terminal: a line each, or each with its source and the way to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from codemods.hotpath.codes import CODES
from codemods.hotpath.compare import Comparison
from codemods.hotpath.results import Finding, Heat, Place, Report
from codemods.output import printable

Lines = Callable[[str, int], str]
"""The text of a line of a file."""
_MOST_LOOPS = 3
_LONGEST = 80


def one_line(finding: Finding) -> str:
    """A finding in a line: place, code, what, and the way from the loop."""
    place = finding.place
    head = f"{place.path}:{place.line}:{place.column}: {finding.code}"
    if finding.loop is None:
        return printable(f"{head} {CODES[finding.code].title}: {finding.text}")
    told = f"{_often(finding)[2:]}: `{finding.text}`; {way(finding)}"
    return printable(f"{head} {CODES[finding.code].title}, {told}")


_OFTEN: dict[Heat, str] = {
    "env": "per env",
    "step": "per step",
    "every-n": "every so many steps",
    "epoch": "per epoch",
    "once": "once",
}


def _often(finding: Finding) -> str:
    return f", {_OFTEN[finding.heat]}" if finding.heat is not None else f": {finding.text}"


def way(finding: Finding) -> str:
    """From the loop to the finding: the loop with its place, and each function on the way."""
    assert finding.loop is not None
    loop = finding.loop
    start = f"loop {loop.place.path}:{loop.place.line} `{loop.header}`"
    return " -> ".join([start, *(f"{s.function} ({s.place.path}:{s.place.line})" for s in finding.steps)])


def told_once(findings: Iterable[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """For each place, code and heat the finding with the shortest way to it, and the others."""
    places: dict[tuple[Place, str, Heat | None], list[Finding]] = {}
    for finding in findings:
        places.setdefault((finding.place, finding.code, finding.heat), []).append(finding)
    found = []
    for same in places.values():
        first = min(same, key=lambda finding: len(finding.steps))
        found.append((first, [finding for finding in same if finding is not first]))
    return found


def other_ways(others: list[Finding]) -> str:
    """How many other ways lead to a place, and the loops that they begin in."""
    loops = dict.fromkeys(f.loop.place for f in others if f.loop is not None)
    shown = ", ".join(f"{place.path}:{place.line}" for place in list(loops)[:_MOST_LOOPS])
    more = f" and {len(loops) - _MOST_LOOPS} more" if len(loops) > _MOST_LOOPS else ""
    ways = "1 other way leads" if len(others) == 1 else f"{len(others)} other ways lead"
    return f"{ways} here, from {'loop' if len(loops) == 1 else 'loops'} {shown}{more}"


def render_concise(comparison: Comparison) -> Iterator[str]:
    """A line for each place to be dealt with."""
    for finding, others in told_once(comparison.new):
        yield one_line(finding) + (f"; {other_ways(others)}" if others else "")
    yield from _stale(comparison)


def _stale(comparison: Comparison) -> Iterator[str]:
    for entry, count in comparison.stale:
        left = f"{count} of {entry.count} match nothing" if count < entry.count else "matches nothing"
        yield (
            f"{comparison.against}:{entry.line}:1: HP902 stale baseline entry: {entry}: {left}; "
            "run with --update-baseline"
        )


def render_full(comparison: Comparison, lines: Lines) -> Iterator[str]:
    """Each finding with its source, the loop, the calls between them, and what to do instead."""
    for finding, others in told_once(comparison.new):
        code = CODES[finding.code]
        place = finding.place
        head = f"{place.path}:{place.line}:{place.column}: {finding.code} {code.title}"
        yield printable(f"{head}{_often(finding)}")
        yield from _excerpt(place, lines)
        if finding.loop is not None:
            yield from _path(finding, lines)
        if others:
            yield f"  also   {other_ways(others)}"
        yield f"  = instead: {code.way_out(per_env=finding.heat == 'env' or finding.heat is None)}"
        yield ""
    stale = list(_stale(comparison))
    yield from [*stale, ""] if stale else []


def _excerpt(place: Place, lines: Lines) -> Iterator[str]:
    number = str(place.line)
    text = lines(place.path, place.line)
    end = place.end_column if place.end_line == place.line else len(text) + 1
    text = text.expandtabs(1)
    before, marked = printable(text[: place.column - 1]), printable(text[place.column - 1 : end - 1])
    yield f"{' ' * len(number)} |"
    yield f"{number} | {printable(text)}"
    yield f"{' ' * len(number)} | {' ' * len(before)}{'^' * max(1, len(marked))}"


def _path(finding: Finding, lines: Lines) -> Iterator[str]:
    assert finding.loop is not None
    rows = [("loop", finding.loop.place, finding.loop.function)]
    inside = finding.loop.function
    for step in finding.steps:
        rows.append(("calls", step.place, inside))
        inside = step.function
    rows.append(("stalls", finding.place, inside))
    width = max(len(f"{place.path}:{place.line}") for _, place, _ in rows)
    for word, place, function in rows:
        where = f"{place.path}:{place.line}"
        shown = printable(lines(place.path, place.line).strip())
        yield f"  {word:6} {where:{width}}  {shown}" + (f"   (in {function})" if function else "")


def render_summary(comparison: Comparison) -> str:
    """Summarise the comparison in a line."""
    report = comparison.report
    seen = looked_at(report)
    known = []
    if comparison.accepted:
        known.append(f"{len(comparison.accepted)} accepted by {comparison.against}")
    if comparison.allowed:
        known.append(f"{len(comparison.allowed)} allowed by comments")
    if comparison.report.hidden:
        known.append(f"not shown: {less_hot(comparison.report)}")
    also = f"; {', '.join(known)}" if known else ""
    if comparison.clean and not report.loops:
        return f"hotpath: {seen}: nothing was checked{also}"
    if comparison.clean:
        fresh = "nothing new stalls" if comparison.against else "nothing stalls"
        return f"hotpath: {fresh} in {seen}{also}"
    stale = (
        f", {_count(len(comparison.stale), 'stale baseline entry', 'stale baseline entries')}"
        if comparison.stale
        else ""
    )
    fresh = "new " if comparison.against else ""
    places = len(told_once(comparison.new))
    at = f" at {_count(places, 'place')}" if places != len(comparison.new) else ""
    return f"hotpath: {_count(len(comparison.new), f'{fresh}finding')}{at}{stale} in {seen}{also}"


_LOOPS: dict[Heat, str] = {
    "env": "over environments",
    "step": "over steps or batches",
    "epoch": "over epochs",
}


def _loops(report: Report) -> Iterator[tuple[Heat, int]]:
    counts = Counter(loop.heat for loop in report.loops)
    for heat in _LOOPS:
        if counts[heat]:
            yield heat, counts[heat]


def looked_at(report: Report) -> str:
    """Count what was looked at: hot loops by kind, files, functions, calls followed and not followed."""
    loops = ", ".join(
        f"{_count(number, 'loop') if not index else number} {_LOOPS[heat]}"
        for index, (heat, number) in enumerate(_loops(report))
    )
    parts = [f"{loops or 'no hot loop'} in {_count(report.files, 'file')}"]
    if report.loops:
        runs = "runs" if report.functions == 1 else "run"
        inside = "it" if len(report.loops) == 1 else "them"
        parts.append(f"{_count(report.functions, 'function')} {runs} in {inside}")
        followed = f"{_count(report.followed, 'call')} followed"
        if report.unfollowed:
            reasons = Counter(why for *_, why in report.unfollowed).most_common()
            why = ", ".join(f"{number} {reason}" for reason, number in reasons)
            followed += f", {len(report.unfollowed)} not ({why})"
        parts.append(followed)
    if report.tests:
        parts.append(f"only loops over environments in {_count(report.tests, 'file')} of tests")
    return "; ".join(parts)


def less_hot(report: Report) -> str:
    """How many places there are beside those that are shown."""
    heats = ", ".join(f"{number} {_OFTEN[heat]}" for heat, number in report.hidden)
    return f"{heats} (--heat all shows them)" if heats else ""


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def explain(code: str) -> str:
    """A code with its reason, its way out and its examples."""
    item = CODES[code]
    flagged = "\n".join(f"    {line}" for line in item.flagged.splitlines())
    fine = "\n".join(f"    {line}" for line in item.fine.splitlines())
    off = "" if item.default else "\n\nOff unless `[tool.codemods.hotpath] select` names it."
    return (
        f"{item.code} ({item.name}): {item.title}\n\n{item.why}\n\nInstead: {item.ways_out}{off}\n\n"
        f"Flagged, in a loop over environments or steps:\n\n{flagged}\n\nNot flagged:\n\n{fine}\n"
    )
