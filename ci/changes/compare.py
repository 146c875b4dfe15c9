"""Two lists of items, and what of the base's is missing, new or changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a tree says about its gate.

    Attributes:
        name: the name of a change of it, by which it is accepted.
        path: the file that says it.
        key: tells it apart from others of its name.
        content: the part that may not change.
        shown: the part that a message shows.
        may: ``come`` if a new one, or one that is switched on, demands more; ``go`` if it lets more pass.
        within: the name and key of the item that it belongs to; where that is new or gone, it says nothing.
        element: it is one of a list, not the setting itself.
    """

    name: str
    path: str
    key: object = ""
    content: object = None
    shown: str = ""
    may: Literal["come", "go", "neither"] = "neither"
    within: tuple[str, object] | None = None
    element: bool = False


@dataclass(frozen=True, slots=True)
class Weakening:
    """Something that the base demands and the head does not: its name, what became of it, its file."""

    name: str
    what: str
    path: str


def accepts(accepted: Sequence[str], name: str) -> bool:
    """Return whether a name is accepted: itself, or a name that it begins with up to a dot."""
    return any(name == known or name.startswith(f"{known}.") for known in accepted)


def compare(before: Iterable[Item], after: Iterable[Item]) -> Iterator[Weakening]:
    """Yield the items that are gone, new or changed, as far as they may not be."""
    old = {(each.name, each.key): each for each in before}
    new = {(each.name, each.key): each for each in after}
    for key in dict.fromkeys([*old, *new]):
        left, right = old.get(key), new.get(key)
        there = right or left
        assert there is not None
        what = None
        if there.within is not None and not (there.within in old and there.within in new):
            continue
        if right is None:
            what = None if there.may == "go" else _gone(there)
        elif left is None:
            what = None if there.may == "come" else _new(there)
        elif left.content != right.content and not (left.may == "come" and left.content is False):
            what = _changed(left, right)
        if what is not None:
            yield Weakening(there.name, what, there.path)


def _gone(item: Item) -> str:
    if item.element:
        return f"no longer has {short(item.shown)}"
    return f"is gone: {short(item.shown)}" if item.shown else "is gone"


def _new(item: Item) -> str:
    if item.element:
        return f"now also has {short(item.shown)}"
    return f"is new: {short(item.shown)}" if item.shown else "is new"


def _changed(left: Item, right: Item) -> str:
    if left.shown == right.shown:
        return f"is changed: {short(right.shown)}" if right.shown else "is changed"
    return f"was {short(left.shown)}, is {short(right.shown)}"


def short(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
