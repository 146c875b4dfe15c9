"""Everything that decides what the gate lets pass, at the base and here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ci.config import ConfigError, has_gate, load_config
from ci.policy.compare import Weakening, compare
from ci.policy.place import Found, Side
from ci.policy.readings import PROJECT
from ci.policy.sources import SOURCES, Source
from ci.policy.unread import unread
from codemods.program import SourceError
from golden.trace.errors import GoldenError

_UNREADABLE = (SourceError, ConfigError, GoldenError, OSError, ValueError)


def weakened(base: Path, head: Path) -> list[Weakening] | None:
    """What the tree ``head`` no longer demands of what ``base`` did.

    None if the base demands nothing: it has no ``[tool.gate]``. What of the base can't be read is
    named as well, since nobody knows what it demanded.
    """
    try:
        if not has_gate(base):
            above = _above(base)
            return [Weakening("tool.gate", f"was that of {above}", PROJECT)] if above else None
        config = load_config(base)
    except (SourceError, ConfigError) as error:
        return [Weakening("tool.gate", f"the base's can't be read: {_said(error, base)}", PROJECT)]
    before, after = Side(base, config), Side(head, config)
    found = [each for source in SOURCES if source.wanted(config) for each in _source(source, before, after)]
    return [*found, *unread(before, after)]


def _above(base: Path) -> str:
    """A folder above whose gate a gate of this folder would take the place of; in the same repository."""
    folder = base
    while not (folder / ".git").exists() and folder != folder.parent:
        folder = folder.parent
        if has_gate(folder):
            return "the repository's own folder" if (folder / ".git").exists() else folder.name
    return ""


def _source(source: Source, before: Side, after: Side) -> Iterator[Weakening]:
    """Compare all that two trees say in places of one kind."""
    try:
        left = {(each.name, each.key): each for each in source.read(before)}
    except _UNREADABLE as error:
        yield Weakening(
            "tool.gate", f"the base's {source.told} can't be read: {_said(error, before.root)}", PROJECT
        )
        return
    try:
        right = {(each.name, each.key): each for each in source.read(after)}
    except _UNREADABLE as error:
        yield Weakening("tool.gate", f"{source.told} can't be read: {_said(error, after.root)}", PROJECT)
        return
    for key in dict.fromkeys([*left, *right]):
        yield from _pair(source, left.get(key), right.get(key), before.root, after.root)


def _pair(
    source: Source, left: Found | None, right: Found | None, base: Path, head: Path
) -> Iterator[Weakening]:
    there = right or left
    assert there is not None
    name = there.name or "tool.gate"
    try:
        before = left.load() if left else None
    except _UNREADABLE as error:
        yield Weakening(name, f"the base's can't be read: {_said(error, base)}", there.path)
        return
    try:
        after = right.load() if right else None
    except _UNREADABLE as error:
        yield Weakening(name, f"can't be read: {_said(error, head)}", there.path)
        return
    yield from compare(there.name, before, after, source.rule, there.path)


def _said(error: Exception, root: Path) -> str:
    """What an error says, in a line, of files as the tree names them."""
    return " ".join(str(error).split()).replace(f"{root}/", "")
