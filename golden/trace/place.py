"""Places of a record that two runs of one tree disagreed about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from esper_harness.report.plain import listed

Kind = Literal["event field", "attribute", "extra state", "file name", "field", "tag", "line", "order"]


class Unstable(BaseModel, extra="forbid", frozen=True):
    """One place that is not compared.

    ``where`` is the type of an event, the class of a module, or an output; ``name`` is the path of a field or
    attribute, a tag, or the pattern of a line or of a part of a file's name.
    """

    kind: Kind
    where: str
    name: str


def titles(found: Iterable[Unstable]) -> tuple[str, ...]:
    """Return the places in words, those of one name together."""
    places: dict[tuple[Kind, str], list[str]] = defaultdict(list)
    for each in found:
        places[each.kind, each.name].append(each.where)
    return tuple(f"{kind} {name}{_of(where)}" for (kind, name), where in places.items())


def _of(where: Sequence[str]) -> str:
    named = [place for place in where if place]
    return f" of {listed(named, 3)}" if named else ""
