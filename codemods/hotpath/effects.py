"""Discoveries made while going through a function, kept apart from its result, so that it holds until what it
was told changes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from codemods.hotpath.frame import Stall
from codemods.hotpath.kinds import Kind
from codemods.hotpath.modules import Class, Function, Module
from codemods.hotpath.results import Loop, Place

Field = tuple[Class, str]


@dataclass(slots=True, eq=False)
class Effects:
    """Of one pass through a function, a module's variable or an entry.

    Attributes:
        function: that was called, if one was.
        asked: kinds of attributes that it was told.
        inner: passes through what it calls.
        findings: stalls in loops of its own, and whether rarely.
        truncated: stalls that more ways lead to than are listed.
        entered: functions that it calls.
        hot: those of them that are called from inside of a hot loop.
        followed: calls in hot loops that were gone into.
        unfollowed: those that were not, with the module they are in and the reason.
    """

    function: Function | None = None
    asked: dict[Field, Kind] = field(default_factory=dict)
    inner: dict[Effects, None] = field(default_factory=dict)
    findings: dict[tuple[Loop, Stall], bool] = field(default_factory=dict)
    truncated: dict[Place, None] = field(default_factory=dict)
    entered: set[Function] = field(default_factory=set)
    hot: set[Function] = field(default_factory=set)
    followed: set[ast.AST] = field(default_factory=set)
    unfollowed: dict[ast.AST, tuple[Module, str]] = field(default_factory=dict)

    def found(self, loop: Loop, stall: Stall, rare: bool) -> None:
        """Note a stall in a loop; rare only if it is on every way."""
        self.findings[loop, stall] = rare and self.findings.get((loop, stall), True)


class Gathered(Effects):
    """All that passes reached from some entries brought to light."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[Effects] = set()

    def take(self, effects: Effects) -> None:
        """Add a pass and those through what it calls."""
        waiting = [effects]
        while waiting:
            one = waiting.pop()
            if one in self._seen:
                continue
            self._seen.add(one)
            waiting += one.inner
            for (loop, stall), rare in one.findings.items():
                self.found(loop, stall, rare)
            self.truncated.update(one.truncated)
            self.entered |= one.entered
            self.hot |= one.hot
            self.followed |= one.followed
            self.unfollowed.update(one.unfollowed)


def outdated(passes: Iterable[Effects], now: Callable[[Field], Kind]) -> set[Effects]:
    """Passes that were told something, themselves or in what they call, that is no longer so."""
    callers: dict[Effects, list[Effects]] = {}
    waiting = list(passes)
    seen = set(waiting)
    kinds: dict[Field, Kind] = {}
    stale: set[Effects] = set()
    while waiting:
        one = waiting.pop()
        for inner in one.inner:
            callers.setdefault(inner, []).append(one)
            if inner not in seen:
                seen.add(inner)
                waiting.append(inner)
        for name, told in one.asked.items():
            if name not in kinds:
                kinds[name] = now(name)
            if kinds[name] != told:
                stale.add(one)
                break
    waiting = list(stale)
    while waiting:
        for caller in callers.get(waiting.pop(), ()):
            if caller not in stale:
                stale.add(caller)
                waiting.append(caller)
    return stale
