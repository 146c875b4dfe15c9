"""A review as text and as JSON."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator

from codemods.review.report import (
    Accepted,
    Changed,
    Gone,
    Left,
    Lifted,
    New,
    Outcome,
    Place,
    Regrouped,
    Renamed,
    Review,
    Same,
)
from codemods.review.spelling import Renaming
from esper_harness.report.json import json_text

_CLASSES: dict[type[Outcome], str] = {
    Same: "same",
    Renamed: "renamed",
    Lifted: "lifted",
    Regrouped: "regrouped",
    Changed: "changed",
    New: "new",
    Gone: "gone",
    Accepted: "accepted",
}


def proven(review: Review) -> int:
    """How many definitions are proven equal."""
    return len(review.of(Same, Renamed, Lifted))


def headline(review: Review) -> list[str]:
    """Count definitions that are proven, and statements left to read."""
    counts = Counter(_CLASSES[type(outcome)] for outcome in review.outcomes)
    shares = ", ".join(f"{counts[name]} {name}" for name in _CLASSES.values() if counts[name])
    lines = [
        f"{review.files} Python files differ: "
        f"{proven(review)} of {len(review.outcomes)} definitions proven equal"
        + (f" ({shares})" if shares else ""),
        f"left to read: {review.left[0]} of {review.statements[0]} statements before, {review.left[1]} of "
        f"{review.statements[1]} after; comments, annotations and docstrings are not compared",
    ]
    if review.accepted:
        lines.append(f"{len(review.accepted)} places were read and accepted")
    return lines


def as_text(review: Review) -> str:
    """Counts first, then all that is left to read, place by place."""
    return "\n".join([*headline(review), *_details(review)]) + "\n"


def _details(review: Review) -> Iterator[str]:
    by_lines: dict[object, list[Outcome]] = {}
    for one in review.outcomes:
        by_lines.setdefault(_lines_of(one), []).append(one)
    for outcome in review.outcomes:
        together = by_lines[_lines_of(outcome)]
        if together[0] is not outcome:
            continue
        also = [f"    and by the same lines {', '.join(map(_name, together[1:]))}"] if together[1:] else []
        if isinstance(outcome, Changed):
            yield f"changed  {_at(outcome.head)}{_moved(outcome.base, outcome.head)}"
            yield from also
            yield from (f"    {name}" for name in outcome.names)
            yield from _lines(outcome.gone, "before")
            yield from _lines(outcome.new, "after")
        elif isinstance(outcome, Renamed):
            yield f"renamed  {_at(outcome.head)}{_moved(outcome.base, outcome.head)}"
        elif isinstance(outcome, New):
            yield f"new      {_at(outcome.head)}"
            yield from also
            yield from _lines(outcome.left, "after")
        elif isinstance(outcome, Gone):
            yield f"gone     {_at(outcome.base)}"
            yield from also
            yield from _lines(outcome.left, "before")
        elif isinstance(outcome, Regrouped):
            before = "" if outcome.head else " before"
            yield f"regrouped  {_at(outcome.place)}{before}: the same statements in their order, not proven"
            yield from also
    yield from (
        f"not lifted  {one.path}:{one.line} {one.qualname}: {one.reason} ({one.code})"
        for one in review.not_lifted
    )
    yield from (
        f"import   {left.path}:{left.first}: a module that was not imported before" for left in review.imports
    )
    yield from (f"dropped  {left.path}:{left.first} before: {left.text}" for left in review.dropped)
    yield from (
        f"order    {left.path}:{left.first}: runs in another order than before" for left in review.order
    )
    yield from (
        f"early    {e.path}:{e.first}: may read {e.name} of {e.module} before it is there"
        for e in review.early
    )
    yield from (
        f"lost     {lost.name} of {lost.path}, which {', '.join(lost.users)} imports" for lost in review.lost
    )
    yield from (
        f"met      {met.name} of {met.path} is new, and {', '.join(met.users)} gets it {met.how}"
        for met in review.met
    )
    yield from (f"stale    {name} is accepted, and is not there" for name in review.stale)
    yield from (f"not judged  {file.path}: {file.why}" for file in review.not_judged)
    yield from (f"not compared  {path}: not Python" for path in review.not_python)


def _lines_of(outcome: Outcome) -> object:
    """Equal for names that one statement of a module binds: its lines are told once."""
    places: tuple[Left, ...] = ()
    names: tuple[Renaming, ...] = ()
    if isinstance(outcome, Changed) and outcome.gone and outcome.new:
        places, names = (*outcome.gone, *outcome.new), outcome.names
    elif isinstance(outcome, New | Gone):
        places = outcome.left
    elif isinstance(outcome, Regrouped):
        return Regrouped, outcome.place.path, outcome.place.line, outcome.head is None
    lines = tuple((left.path, left.first, left.last) for left in places)
    return (type(outcome), lines, names) if lines else id(outcome)


def _name(outcome: Outcome) -> str:
    """The name that it has in the head, if it has one there."""
    if isinstance(outcome, Regrouped):
        return outcome.place.qualname
    place = outcome.base if isinstance(outcome, Gone) else outcome.head
    return place.qualname if isinstance(place, Place) else ""


def _at(place: Place) -> str:
    return f"{place.path}:{place.line} {place.qualname}"


def _moved(base: Place, head: Place) -> str:
    if (base.path, base.qualname) == (head.path, head.qualname):
        return ""
    return f" (was {base.path} {base.qualname})"


def _lines(places: tuple[Left, ...], side: str) -> Iterator[str]:
    runs: list[list[int]] = []
    for place in places:
        if runs and place.first <= runs[-1][1] + 1:
            runs[-1][1] = max(runs[-1][1], place.last)
        else:
            runs.append([place.first, place.last])
    if runs:
        shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
        yield f"    {side}: {places[0].path}:{shown}"


def as_json(review: Review) -> str:
    """The whole review as one object."""
    document = {
        "version": 1,
        "clean": review.clean,
        "files": review.files,
        "statements": {"before": review.statements[0], "after": review.statements[1]},
        "left": {"before": review.left[0], "after": review.left[1]},
        "definitions": [
            {"class": _CLASSES[type(outcome)]} | dataclasses.asdict(outcome) for outcome in review.outcomes
        ],
        "imports": [dataclasses.asdict(left) for left in review.imports],
        "dropped": [dataclasses.asdict(left) for left in review.dropped],
        "order": [dataclasses.asdict(left) for left in review.order],
        "early": [dataclasses.asdict(early) for early in review.early],
        "lost": [dataclasses.asdict(lost) for lost in review.lost],
        "met": [dataclasses.asdict(met) for met in review.met],
        "accepted": review.accepted,
        "stale": review.stale,
        "not_lifted": [dataclasses.asdict(one) for one in review.not_lifted],
        "not_judged": [dataclasses.asdict(file) for file in review.not_judged],
        "not_python": review.not_python,
    }
    return json_text(document)
