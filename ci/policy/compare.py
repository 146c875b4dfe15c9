"""Two tables of settings, and which way each setting is stricter. A setting without a rule may not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Weakening:
    """Something that the base demands and the head does not: its name, what became of it, its file."""

    name: str
    what: str
    path: str


def accepts(accepted: Sequence[str], name: str) -> bool:
    """Whether a name is accepted: itself, or a name that it begins with up to a dot."""
    return any(name == known or name.startswith(f"{known}.") for known in accepted)


Rule = Callable[[Any, Any], "str | None"]


def keep(before: Any, after: Any) -> str | None:
    """A list that may grow: what it has lost."""
    lost = [item for item in before or () if item not in (after or ())]
    return f"no longer has {_listed(lost)}" if lost else None


def no_more(before: Any, after: Any) -> str | None:
    """A list that may shrink: what it has besides."""
    added = [item for item in after or () if item not in (before or ())]
    return f"now also has {_listed(added)}" if added else None


def on(before: Any, after: Any) -> str | None:
    """A check that may be switched on."""
    return "is switched off" if before and not after else None


def at_most(before: Any, after: Any) -> str | None:
    """A bound that may be lowered."""
    return f"was {before}, is {after}" if after > before else None


def at_least(before: Any, after: Any) -> str | None:
    """An amount that may be raised."""
    return f"was {before}, is {after}" if after < before else None


def free(before: Any, after: Any) -> str | None:
    """A setting that decides nothing."""
    del before, after
    return None


def same(before: Any, after: Any) -> str | None:
    """A setting of which neither way is stricter."""
    return None if before == after else f"was {_short(before)}, is {_short(after)}"


def ordered(*strictest_first: str) -> Rule:
    """One of some words, the strictest first."""

    def rule(before: Any, after: Any) -> str | None:
        order = strictest_first.index
        return f"was {before}, is {after}" if order(after) > order(before) else None

    return rule


def may_come(before: Any, after: Any) -> str | None:
    """A piece that may appear, but not go or change."""
    if before is None:
        return None
    if after is None:
        return f"is gone: {_short(before.shown)}"
    return f"is changed: {_short(after.shown)}" if before.content != after.content else None


def may_go(before: Any, after: Any) -> str | None:
    """A piece that may go, but not appear or change."""
    if after is None:
        return None
    return may_come(before, after) if before is not None else f"is new: {_short(after.shown)}"


def unchanged(before: Any, after: Any) -> str | None:
    """A piece that may neither appear nor go nor change."""
    return may_go(before, after) if before is None else may_come(before, after)


def more(before: Any, after: Any) -> str | None:
    """A piece of which there may be fewer."""
    added = (after.content if after else 0) - (before.content if before else 0)
    return f"accepts {added} more of {after.shown}" if added > 0 else None


def run_as_often(before: Any, after: Any) -> str | None:
    """A test that may appear, but not go or be skipped by a line more."""
    if before is None or after is None:
        return may_come(before, after)
    added = sorted(after.content - before.content)
    return f"{after.shown} may be skipped by `{_short(added[0])}`" if added else None


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may appear but not go; its keys by their rules, others may not change.

    ``optional`` says that none is the same as an empty one.
    """

    keys: Mapping[str, Node] = field(default_factory=dict)
    default: Node = same
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list of tables, or a table of them, told apart by some of their keys.

    ``grows`` says that another item is more to check; else it is more to let pass.
    """

    by: tuple[str, ...] = ()
    of: Node = same
    grows: bool = True


Node = Rule | Table | Items


def compare(name: str, before: Any, after: Any, node: Node, path: str) -> Iterator[Weakening]:
    """What of ``before`` is weaker in ``after``."""
    match node:
        case Table():
            yield from _table(name, before, after, node, path)
        case Items():
            yield from _items(name, before, after, node, path)
        case rule:
            what = rule(before, after)
            if what is not None:
                yield Weakening(name, what, path)


def _table(name: str, before: Any, after: Any, node: Table, path: str) -> Iterator[Weakening]:
    if node.optional:
        before, after = before or {}, after or {}
    if before is None:
        return
    if after is None:
        yield Weakening(name, "is gone", path)
        return
    for key in dict.fromkeys([*before, *after]):
        rule = node.keys.get(key, node.default)
        place = f"{name}.{key}" if name else key
        yield from compare(place, before.get(key), after.get(key), rule, path)


def _items(name: str, before: Any, after: Any, node: Items, path: str) -> Iterator[Weakening]:
    left, right = _keyed(before, node.by), _keyed(after, node.by)
    for key, item in left.items():
        if key in right:
            yield from compare(f"{name}.{key}", item, right[key], node.of, path)
        elif node.grows:
            yield Weakening(f"{name}.{key}", "is gone", path)
    if not node.grows:
        for key in right:
            if key not in left:
                yield Weakening(f"{name}.{key}", f"is new: {_short(right[key])}", path)


def _keyed(items: Any, by: Sequence[str]) -> dict[str, Any]:
    if not items:
        return {}
    if isinstance(items, Mapping):
        return dict(items)
    found: dict[str, Any] = {}
    for item in items:
        key = ".".join(str(item.get(part, "")) for part in by)
        while key in found:  # two of a name: each is compared with its like
            key += "+"
        found[key] = item
    return found


def _listed(items: Sequence[Any]) -> str:
    return _short(", ".join(map(str, items)))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "not there" if value is None else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
