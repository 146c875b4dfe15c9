"""Refusals: why the tool declines to change a program, under the codes of `codes.toml`.

There are two kinds of codes. A rule is exact: it follows from the program's data flow. An assumption can't be
seen in the text; a user who knows that it holds accepts it by its code.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import TypeVar

from codemods.program.graph import NotUnderstood
from codemods.program.source import Unusable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A helper that stays where it is: which rule, which line forbids the lift, why, and what would allow
    it.
    """

    code: str
    line: int
    reason: str
    way_out: str

    def with_lines(self, line: Callable[[int], int]) -> Refusal:
        """The same with other lines, those that its reason names too; ``line`` gives one for another."""
        reason = re.sub(r"\bline (\d+)\b", lambda found: f"line {line(int(found[1]))}", self.reason)
        return replace(self, line=line(self.line), reason=reason)


Refusals = Iterator[Refusal]
"""Findings of a check. The first one counts, and nothing is asked for after it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A refusal code: what it means, and what to do; an ``assumption`` is one that the user may accept.

    An example is one program: lines with a minus are in the refused version alone, lines with a plus in the
    lifted one.
    """

    code: str
    summary: str
    way_out: str
    examples: tuple[str, ...] = ()
    assumption: bool = False

    def help(self, way_out: str | None = None) -> str:
        """Say what to do about a refusal, or the way out that fits a place better, and how to accept it."""
        accepting = f"; or accept it: --accept {self.code}, in a plan [[accept]]" if self.assumption else ""
        return (way_out or self.way_out) + accepting

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Programs that are refused for it, each with one like it that is lifted."""
        return sorted((_side(text, "-"), _side(text, "+")) for text in self.examples)


def _side(text: str, mark: str) -> str:
    rows = text.strip("\n").split("\n")
    return "".join(row[1:] + "\n" for row in rows if row[:1] in ("", " ", mark))


@cache
def all_rules() -> Mapping[str, Rule]:
    """All codes."""
    read = tomllib.loads(Path(__file__).with_name("codes.toml").read_text("utf-8"))
    return {
        code: Rule(code, entry.pop("summary"), entry.pop("help"), **entry) for code, entry in read.items()
    }


def refuse(code: str, at: int | ast.AST, reason: str, way_out: str | None = None) -> Refusal:
    """A refusal under a known code, at a line or at the node that forbids the lift; with the code's way out,
    where none is given that fits this one better.
    """
    line = at if isinstance(at, int) else getattr(at, "lineno", 1)
    known = all_rules()[code]
    return Refusal(code, line, reason, known.help(way_out))


@dataclass(frozen=True, slots=True)
class Accepted:
    """Assumptions that the user accepts, by code with the reason, and the refusals that they overruled, by
    the names of what was to be changed.
    """

    reasons: Mapping[str, str] = field(default_factory=dict)
    overruled: dict[tuple[str, str], Refusal] = field(default_factory=dict)

    @classmethod
    def of(cls, reasons: Mapping[str, str]) -> Accepted:
        """Accept assumptions, by code with the reason.

        Raises:
            Unusable: if a code is no assumption; the message is one line.
        """
        rules = all_rules()
        known = ", ".join(sorted(code for code, rule in rules.items() if rule.assumption))
        for code in reasons:
            if code not in rules:
                raise Unusable(f"there is no code {code}; these can be accepted: {known}")
            if not rules[code].assumption:
                raise Unusable(f"{code} is an exact rule and can't be accepted; these can: {known}")
        return cls(reasons)

    def overrules(self, refusal: Refusal, name: str) -> bool:
        """Tell whether a refusal of something called so is under an accepted code; the first of each is
        kept.
        """
        if refusal.code not in self.reasons:
            return False
        self.overruled.setdefault((refusal.code, name), refusal)
        return True


def first(found: Iterable[Refusal], accepted: Accepted | None = None, name: str = "") -> Refusal | None:
    """The refusal of something called so that counts: the first that no accepted assumption overrules.

    A check that meets a construct whose flow of control is not known refuses.
    """
    try:
        return next((r for r in found if accepted is None or not accepted.overrules(r, name)), None)
    except NotUnderstood as unknown:
        return refuse("not-understood", unknown.node, f"a construct of kind {unknown} is not understood")


def refused_by(
    things: Iterable[T], check: Callable[[T], Iterable[Refusal]], accepted: Accepted | None = None
) -> dict[T, Refusal]:
    """Of some things those that a check refuses, with why."""
    checked = ((thing, first(check(thing), accepted, getattr(thing, "name", ""))) for thing in things)
    return {thing: refusal for thing, refusal in checked if refusal is not None}


def explain(code: str) -> str:
    """The text of ``--explain CODE``.

    Raises:
        Unusable: if there is no such code.
    """
    found = all_rules().get(code)
    if found is None:
        raise Unusable(f"unknown code {code}; known are {', '.join(sorted(all_rules()))}")
    parts = [f"{found.code}\n\n{found.summary}\n\nWay out: {found.help()}"]
    for refused, lifted in found.pairs:
        parts.append("Refused:\n\n" + indent(refused.rstrip("\n"), "    "))
        parts.append("Lifted:\n\n" + indent(lifted.rstrip("\n"), "    "))
    return "\n\n".join(parts) + "\n"
