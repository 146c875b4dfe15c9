"""Text, JSON and tables by value."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from golden.outputs.masks import Masks

Rows = tuple[Mapping[str, Any], ...]
# Python refuses cells of more than 131,072 characters.
csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def read_text(text: str, masks: Masks) -> Rows:
    """Return one row per line."""
    return tuple({"line": line} for line in masks.lines(text))


def read_json(text: str, masks: Masks) -> Rows:
    """Return one tree; text that is no JSON is read as lines."""
    try:
        value = json.loads(text, object_pairs_hook=_every_key)
    except ValueError:
        return read_text(text, masks)
    return (masks.tree(value if isinstance(value, dict) else {"value": value}),)


def read_json_lines(text: str, masks: Masks) -> Rows:
    """Return one tree per line; a line that is no JSON is text."""
    rows: list[Mapping[str, Any]] = []
    for line in text.splitlines():
        if line.strip():
            try:
                value = json.loads(line, object_pairs_hook=_every_key)
            except ValueError:
                rows += read_text(line, masks)
                continue
            rows.append(masks.tree(value if isinstance(value, dict) else {"value": value}))
    return tuple(rows)


def read_table(text: str, masks: Masks, delimiter: str) -> Rows:
    """Return one row per line after the head, whose names are those of its fields; numbers are numbers.

    Comments before the head are text.
    """
    whole = text.splitlines(keepends=True)
    above = list(itertools.takewhile(lambda line: line.startswith("#"), whole))
    if len(above) == len(whole):
        above = above[1:]
    try:
        lines = list(csv.reader(io.StringIO("".join(whole[len(above) :])), delimiter=delimiter))
    except csv.Error:
        return read_text(text, masks)
    if not lines:
        return ()
    head = _distinct([name.strip() or f"column {index}" for index, name in enumerate(lines[0])])
    if all(_number(name) is not None for name in lines[0]):
        head, body = [f"column {index}" for index in range(len(head))], lines
    else:
        body = lines[1:]
    rows: list[Mapping[str, Any]] = [{"line": line} for line in masks.lines("".join(above))]
    if body is not lines:
        rows.append({"columns": head})
    for line in body:
        names = [*head, *(f"column {index}" for index in range(len(head), len(line)))]
        cells = {
            name: _number(cell) if _number(cell) is not None else cell
            for name, cell in zip(names, line, strict=False)
        }
        rows.append(masks.tree(cells))
    return tuple(rows)


def _every_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, in which a key may be there twice."""
    return dict(zip(_distinct([key for key, _ in pairs]), (item for _, item in pairs), strict=True))


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names, those that were there before with their number."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    taken = set(names)
    for name in names:
        seen[name] += 1
        new = name
        while seen[name] > 1 and (new := f"{name} ({seen[name]})") in taken:
            seen[name] += 1
        found.append(new)
        taken.add(new)
    return found


def is_table(text: str) -> bool:
    """Tell whether text is a table with tabs and a head, though its file's name does not say so."""
    first, _, rest = text.partition("\n")
    names = first.split("\t")
    columns = {line.count("\t") for line in rest.splitlines()}
    return (
        len(names) > 1
        and columns == {len(names) - 1}
        and all(name and _number(name) is None for name in names)
    )


def _number(cell: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return None
