"""Unstable places, learnt from two runs of one tree.

Single numbers, dates and ids may be learnt: in printed lines, fields of files and events, names of files,
attributes and extra state of modules. Nothing that training computes is: where weights, gradients, losses,
random states, host reads, settings or calls of other processes differ, or another number of lines, files or
events comes out, the program does not repeat itself.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from golden.compare.compare import compare
from golden.compare.outcome import Comparison, Different, Identical
from golden.trace.outputs import STREAMS, Output, leaves
from golden.trace.trace import Trace, Unstable, write_about
from golden.trace.unstable import UUID_HEX, field_pattern, leave_out_ids, pattern_of, rename, shape

# What joins the numbers of a date or time.
_JOINTS = frozenset("-_:.T")
_WHOLE_ID = re.compile(rf"'?{UUID_HEX}'?")
_DIGEST = re.compile(r"(?<![.\w])(?=\d*[a-f])[0-9a-f]{16}(?:[0-9a-f]{16})?(?![.\w])")


def repeats(left: Trace, again: Trace, *, ids: bool = True) -> tuple[Trace, Comparison]:
    """Return the trace with what two runs of one tree disagree about, and how they compare without it.

    It is kept with the trace on disk, so that every later comparison leaves it out. With ``ids``, those that
    are the same in both are compared from now on.
    """
    if ids and left.about.ids and not left.about.same_ids:
        about = left.about.model_copy(update={"same_ids": True})
        taught, found = repeats(replace(left, about=about), again)
        if isinstance(found, Identical):
            return taught, found
    found = compare(left, again)
    learnt = learn(left, again)
    taught = with_unstable(left, learnt)
    without = compare(taught, again)
    # Where no step was compared, nothing says that only times and names differ.
    if not isinstance(without, Identical) or (learnt and not without.compared.steps):
        return left, without if isinstance(without, Different) else found
    write_about(taught.folder, taught.about)
    return taught, without


def with_unstable(trace: Trace, found: Sequence[Unstable]) -> Trace:
    """Return the trace of a run in which some more is known to be unstable."""
    known = list(dict.fromkeys([*trace.about.unstable, *found]))
    return replace(trace, about=trace.about.model_copy(update={"unstable": known}))


def learn(left: Trace, again: Trace) -> list[Unstable]:
    """Return the places in which two runs of one tree differ and that may be learnt, each once."""
    if not left.about.same_ids:
        left, again = leave_out_ids(left), leave_out_ids(again)
    found = [*_of_events(left, again), *_of_modules(left, again), *_of_outputs(left, again)]
    return list(dict.fromkeys(found))


def _of_events(left: Trace, again: Trace) -> Iterator[Unstable]:
    if [event.kind for event in left.events] != [event.kind for event in again.events]:
        return
    for a, b in zip(left.events, again.events, strict=True):
        for path in _differing(a.payload, b.payload):
            yield Unstable(kind="event field", where=a.kind, name=path)


def _of_modules(left: Trace, again: Trace) -> Iterator[Unstable]:
    others = {process.name: process for process in again.processes}
    for process in left.processes:
        there = {look.name: look for look in others[process.name].looks} if process.name in others else {}
        for look in process.looks:
            modules = {m.label: m for m in there[look.name].modules} if look.name in there else {}
            for a in look.modules:
                b = modules.get(a.label)
                if b is None or b is a:
                    continue
                texts, other = a.attributes or {}, b.attributes or {}
                for path in sorted(texts.keys() & other.keys()):
                    if _may_be_learnt(texts[path], other[path]):
                        yield Unstable(kind="attribute", where=a.group, name=path)
                for path in sorted(a.extra.keys() & b.extra.keys()):
                    if _may_be_learnt(a.extra[path], b.extra[path]):
                        yield Unstable(kind="extra state", where=a.group, name=field_pattern(path))


def _of_outputs(left: Trace, again: Trace) -> Iterator[Unstable]:
    names = [Unstable(kind="file name", where="", name=name) for name in _names(left.outputs, again.outputs)]
    yield from names
    patterns = [each.name for each in names]
    others = {output.name: output for output in rename(again.outputs, patterns)}
    for a in rename(left.outputs, patterns):
        b = others.get(a.name)
        if b is None or a.kind != b.kind or a.rows == b.rows:
            continue
        if a.name in STREAMS:
            yield from (Unstable(kind="line", where=a.name, name=pattern) for pattern in _printed(a, b))
            continue
        if len(a.rows) != len(b.rows):
            continue
        if a.kind == "tensorboard":
            for x, y in zip(a.rows, b.rows, strict=True):
                if x["tag"] == y["tag"] and _may_be_learnt(x["value"], y["value"]):
                    yield Unstable(kind="tag", where=a.name, name=x["tag"])
            continue
        for x, y in zip(a.rows, b.rows, strict=True):
            if x.keys() == y.keys() == {"line"}:
                pattern = _pattern(x["line"], y["line"])
                if pattern is not None:
                    yield Unstable(kind="line", where=a.name, name=pattern)
            else:
                for path in _differing(x, y):
                    yield Unstable(kind="field", where=a.name, name=path)


def _printed(a: Output, b: Output) -> Iterator[str]:
    """Yield patterns of lines whose numbers differ; in another order, of those that the other side lacks."""
    mine, other = ([str(row["line"]) for row in side.rows] for side in (a, b))
    if not _alike(mine, other):
        x, y = Counter(mine), Counter(other)
        mine, other = (sorted(s.elements(), key=lambda line: shape(line)[0]) for s in (x - y, y - x))
    if _alike(mine, other):
        for one, same in zip(mine, other, strict=True):
            if (pattern := _pattern(one, same)) is not None:
                yield pattern


def _alike(a: Sequence[str], b: Sequence[str]) -> bool:
    return [shape(line)[0] for line in a] == [shape(line)[0] for line in b]


def _names(left: Sequence[Output], again: Sequence[Output]) -> Iterator[str]:
    """Yield patterns of the parts of names that differ between files which belong together."""
    sides = [{output.name for output in side} for side in (left, again)]
    groups: list[dict[Any, list[str]]] = []
    for mine, other in (sides, sides[::-1]):
        group: dict[Any, list[str]] = defaultdict(list)
        for name in sorted(mine - other):
            group[tuple(shape(part)[0] for part in name.split("/"))].append(name)
        groups.append(group)
    for key, names in groups[0].items():
        others = groups[1].get(key, [])
        if len(others) != len(names):
            continue
        for x, y in zip(names, others, strict=True):
            for part, same in zip(x.split("/"), y.split("/"), strict=True):
                pattern = _pattern(part, same)
                if pattern is not None:
                    yield pattern


def _differing(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of leaves that differ, of two trees of one form."""
    a, b = dict(leaves(left)), dict(leaves(right))
    for path in sorted(a.keys() & b.keys()):
        if _may_be_learnt(a[path], b[path]):
            yield field_pattern(path)


def _may_be_learnt(x: Any, y: Any) -> bool:
    """Tell whether two values differ as times do: two numbers, or texts with other numbers in them."""
    if isinstance(x, bool) or isinstance(y, bool) or (type(x) is type(y) and repr(x) == repr(y)):
        return False
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return True
    if not (isinstance(x, str) and isinstance(y, str)):
        return False
    if _DIGEST.search(x) and not (_WHOLE_ID.fullmatch(x) and _WHOLE_ID.fullmatch(y)):
        # Tensors and bytes are told by digests.
        return False
    return _pattern(x, y) is not None


def _pattern(x: str, y: str) -> str | None:
    """Return the pattern of two texts whose numbers differ; None for equal texts, and for other words."""
    (words, a), (same, b) = shape(x), shape(y)
    if words != same or a == b:
        return None
    differing = {index for index, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1]}
    # Of a date the day is as unstable as the second, though both runs were on one day.
    for order in (range(1, len(a)), range(len(a) - 1, 0, -1)):
        for index in order:
            joined = words[index] in _JOINTS and not words[index - 1][-1:].isalpha()
            if joined and differing & {index - 1, index}:
                differing |= {index - 1, index}
    return pattern_of(words, differing)
