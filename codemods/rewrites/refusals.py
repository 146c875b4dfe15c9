"""Every reason for which the tool declines to lift, with a program that is refused for it and one that is
not.

The examples are the registry's own tests: the first of each pair must be refused with this code, the second
lifted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from textwrap import indent
from typing import TypeVar

from codemods.program.events import NotUnderstood

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
"""What a check finds. The first one counts, and nothing is asked for after it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A refusal code: what it means, what to do, and its two examples."""

    code: str
    summary: str
    way_out: str
    refused: str
    lifted: str


RULES: dict[str, Rule] = {}


def rule(code: str, summary: str, way_out: str, example: str) -> None:
    """Add a rule to the registry.

    Its example is a program in which lines with a minus are those that are refused, and lines with a plus
    those that are lifted.
    """
    assert code not in RULES, code
    RULES[code] = Rule(code, summary, way_out, _side(example, "-"), _side(example, "+"))


def _side(example: str, mark: str) -> str:
    rows = example.strip("\n").split("\n") if example else []
    return "".join(row[1:] + "\n" for row in rows if row[:1] in ("", " ", mark))


def refuse(code: str, at: int | ast.AST, reason: str, way_out: str | None = None) -> Refusal:
    """A refusal under a registered code, at a line or at the node that forbids the lift; with the code's way
    out, where none is given that fits this one better.
    """
    line = at if isinstance(at, int) else getattr(at, "lineno", 1)
    return Refusal(code, line, reason, way_out or RULES[code].way_out)


def first(found: Iterable[Refusal]) -> Refusal | None:
    """The refusal that counts; a check that meets a construct whose flow of control is not known refuses."""
    try:
        return next(iter(found), None)
    except NotUnderstood as unknown:
        return refuse("not-understood", unknown.node, f"a construct of kind {unknown} is not understood")


def refused_by(things: Iterable[T], check: Callable[[T], Iterable[Refusal]]) -> dict[T, Refusal]:
    """Of some things those that a check refuses, with why."""
    checked = ((thing, first(check(thing))) for thing in things)
    return {thing: refusal for thing, refusal in checked if refusal is not None}


def explain(code: str) -> str | None:
    """The text of ``--explain CODE``, or None for an unknown code."""
    found = RULES.get(code)
    if found is None:
        return None
    parts = [
        f"{found.code}\n\n{found.summary}\n\nWay out: {found.way_out}",
        "Refused:\n\n" + indent(found.refused.rstrip("\n"), "    "),
        "Lifted:\n\n" + indent(found.lifted.rstrip("\n"), "    "),
    ]
    return "\n\n".join(parts) + "\n"
