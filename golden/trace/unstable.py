"""Unstable places, and a trace without them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from golden.trace.living import Look, ModuleState
from golden.trace.outputs import Output, mapped
from golden.trace.trace import DIFFERS, Place, Trace, Unstable

NUMBER = "<number>"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEMPORARY = r"(?<![\w/])/(?:tmp|var/tmp|dev/shm)/[^\s'\",:)]+"
_IDS = (re.compile(rf"\b{_UUID}\b"), "<id>"), (re.compile(_TEMPORARY), "<temporary>")
# Told from other digests by its version: of other digits, one in 64 reads so.
UUID_HEX = r"(?<![A-Za-z0-9])[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}(?![A-Za-z0-9])"
_ID = r"(?<![A-Za-z0-9])(?=[a-f]*[0-9])[0-9a-f]{6,12}(?![A-Za-z0-9])"
# Behind a mark, `-` sets an id apart.
_SIGNED = r"(?<![A-Za-z0-9_.>])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_TOKEN = re.compile(rf"({_TEMPORARY}|{_UUID}|{UUID_HEX}|{_ID}|{_SIGNED}|\d+(?:\.\d+)?)")
_MARK = re.compile(rf"({NUMBER}|{DIFFERS})")
_SPACES = re.compile(r"[ \t]+")


def shape(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the words of a text, the same for all texts of one pattern, and the numbers between."""
    parts = _TOKEN.split(text)
    return tuple(_SPACES.sub(" ", part) for part in parts[::2]), parts[1::2]


def pattern_of(words: Sequence[str], differing: Iterable[int]) -> str:
    """Return a pattern: its words with marks for the numbers between them."""
    marks = [DIFFERS if index in set(differing) else NUMBER for index in range(len(words) - 1)]
    return "".join(part for pair in zip(words, [*marks, ""], strict=True) for part in pair)


class _Patterns:
    """Texts with marks in the places where they may differ."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._places: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for pattern in patterns:
            parts = _MARK.split(pattern)
            self._places[tuple(parts[::2])] |= {i for i, mark in enumerate(parts[1::2]) if mark == DIFFERS}

    def __call__(self, text: str) -> str:
        if not self._places:
            return text
        words, numbers = shape(text)
        differing = self._places.get(words)
        if differing is None:
            return text
        put = [DIFFERS if index in differing else number for index, number in enumerate(numbers)]
        return "".join(part for pair in zip(words, [*put, ""], strict=True) for part in pair)


def field_pattern(path: str) -> str:
    """Return the path of a field, the same for all items of a list that holds records."""
    *above, last = path.split(".")
    return ".".join([*("*" if part.isdigit() else part for part in above), last])


def without_ids(text: Any) -> Any:
    """Return a text with marks instead of ids and temporary paths, any other value as it is."""
    for pattern, put in _IDS if isinstance(text, str) else ():
        text = pattern.sub(put, text)
    return text


def leave_out_ids(trace: Trace) -> Trace:
    """Return the trace with marks instead of ids and temporary paths in its outputs."""
    if not trace.about.ids:
        return trace
    outputs = (
        replace(o, rows=tuple(mapped(row, lambda _, value: without_ids(value)) for row in o.rows))
        for o in trace.outputs
    )
    return replace(trace, outputs=tuple(outputs))


def leave_out(trace: Trace, found: Sequence[Unstable]) -> Trace:
    """Return the trace with marks instead of what is unstable; that something is there still counts."""
    if not found:
        return trace
    named: dict[Place, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in found:
        named[each.kind][each.where].add(each.name)
    events = [
        replace(event, payload=_marked(event.payload, named["event field"][event.kind]))
        if event.kind in named["event field"]
        else event
        for event in trace.events
    ]
    processes = trace.processes
    if named["attribute"] or named["extra state"]:
        seen: dict[int, ModuleState] = {}

        def of_module(module: ModuleState) -> ModuleState:
            # One state is that of many looks.
            if id(module) not in seen:
                seen[id(module)] = _of_module(module, named["attribute"], named["extra state"])
            return seen[id(module)]

        def of_look(look: Look) -> Look:
            return replace(look, modules=tuple(map(of_module, look.modules)))

        processes = tuple(replace(p, looks=tuple(map(of_look, p.looks))) for p in processes)
    renamed = rename(trace.outputs, named["file name"][""])
    outputs = tuple(_of_output(output, named) for output in renamed)
    return replace(trace, events=tuple(events), processes=processes, outputs=outputs)


def rename(outputs: Sequence[Output], patterns: Iterable[str]) -> tuple[Output, ...]:
    """Return outputs under names without what is unstable in them; those of one name are numbered."""
    marked = _Patterns(patterns)
    seen: Counter[str] = Counter()
    renamed = []
    for output in outputs:
        name = "/".join(map(marked, output.name.split("/")))
        seen[name] += 1
        renamed.append(replace(output, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return tuple(renamed)


def _of_module(
    module: ModuleState, attributes: Mapping[str, set[str]], extra: Mapping[str, set[str]]
) -> ModuleState:
    of_attributes, of_extra = attributes.get(module.group, set()), extra.get(module.group, set())
    if not of_attributes and not of_extra:
        return module
    kept = module.attributes
    if kept is not None:
        kept = {path: DIFFERS if path in of_attributes else text for path, text in kept.items()}
    mine = {p: DIFFERS if field_pattern(p) in of_extra else text for p, text in module.extra.items()}
    return replace(module, attributes=kept, extra=mine)


def _of_output(output: Output, named: Mapping[Place, Mapping[str, set[str]]]) -> Output:
    fields, tags = named["field"].get(output.name), named["tag"].get(output.name)
    lines = named["line"].get(output.name)
    rows = output.rows
    if lines:
        marked = _Patterns(lines)
        rows = tuple({"line": marked(row["line"])} if row.keys() == {"line"} else row for row in rows)
    if tags:
        rows = tuple({**row, "value": DIFFERS} if row.get("tag") in tags else row for row in rows)
    if fields:
        rows = tuple(_marked(row, fields) for row in rows)
    return replace(output, rows=rows)


def _marked(tree: Any, paths: set[str]) -> Any:
    """Return a tree with marks instead of the leaves that the paths name."""
    return mapped(tree, lambda path, value: DIFFERS if field_pattern(path) in paths else value)
