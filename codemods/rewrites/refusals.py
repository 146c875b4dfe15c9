"""Refusals: the codes under which the tool declines to change a program, and their registry.

There are two kinds of codes. A rule is exact: it follows from the program's data flow. An assumption can't be
seen in the text; a user who knows that it holds accepts it by its code.

A code's examples are the registry's own tests: the first of each pair is refused with this code, the second
is lifted.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
    """A refusal code: what it means, and what to do; an ``assumption`` is one that the user may accept."""

    code: str
    summary: str
    way_out: str
    assumption: bool

    @property
    def help(self) -> str:
        """What to do about a refusal and, for an assumption, how to accept it."""
        return self.help_with(self.way_out)

    def help_with(self, way_out: str) -> str:
        """The same with a way out that fits a place better."""
        return f"{way_out}; or accept it: --accept {self.code}" if self.assumption else way_out

    @property
    def examples(self) -> list[tuple[str, str]]:
        """Programs that are refused for it, each with one like it that is lifted."""
        return sorted(EXAMPLES[self.code])


RULES: dict[str, Rule] = {}
EXAMPLES: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)


def rule(code: str, summary: str, way_out: str, text: str = "") -> None:
    """Add an exact rule to the registry, with its first example."""
    _add(Rule(code, summary, way_out, assumption=False), text)


def assumption(code: str, summary: str, way_out: str, text: str = "") -> None:
    """Add an assumption to the registry: ``summary`` is the sentence that a user accepts."""
    _add(Rule(code, summary, way_out, assumption=True), text)


def _add(made: Rule, text: str) -> None:
    assert made.code not in RULES, made.code
    RULES[made.code] = made
    if text:
        example(made.code, text)


def example(code: str, text: str) -> None:
    """Add an example of a code: a program in which lines with a minus are those that are refused, and lines
    with a plus those that are lifted.
    """
    EXAMPLES[code].append((_side(text, "-"), _side(text, "+")))


def _side(text: str, mark: str) -> str:
    rows = text.strip("\n").split("\n")
    return "".join(row[1:] + "\n" for row in rows if row[:1] in ("", " ", mark))


def refuse(code: str, at: int | ast.AST, reason: str, way_out: str | None = None) -> Refusal:
    """A refusal under a registered code, at a line or at the node that forbids the lift; with the code's way
    out, where none is given that fits this one better.
    """
    line = at if isinstance(at, int) else getattr(at, "lineno", 1)
    # The module that registers a code need not be loaded: a plain lift loads no moves.
    known = RULES.get(code) or all_rules()[code]
    return Refusal(code, line, reason, known.help_with(way_out or known.way_out))


@dataclass(frozen=True, slots=True)
class Accepted:
    """Assumptions that the user accepts, by code with the reason, and the refusals that they overruled, by
    the names of what was to be changed.
    """

    reasons: Mapping[str, str] = field(default_factory=dict)
    overruled: dict[tuple[str, str], Refusal] = field(default_factory=dict)

    def overrules(self, refusal: Refusal, name: str) -> bool:
        """Whether a refusal of something called so is under an accepted code; the first of each is kept."""
        if refusal.code not in self.reasons:
            return False
        self.overruled.setdefault((refusal.code, name), refusal)
        return True


# Modules that register rules, assumptions and examples.
_REGISTERING = ("rules", "loop.rules", "move.definitions", "move.visible", "objects.cell", "objects.context")


def all_rules() -> dict[str, Rule]:
    """All codes, those of modules that nothing has needed yet among them."""
    for module in _REGISTERING:
        importlib.import_module(f"codemods.rewrites.{module}")
    return RULES


def assumptions() -> list[str]:
    """The codes that can be accepted, sorted."""
    return sorted(code for code, found in RULES.items() if found.assumption)


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


def explain(code: str) -> str | None:
    """The text of ``--explain CODE``, or None for an unknown code."""
    found = RULES.get(code)
    if found is None:
        return None
    parts = [f"{found.code}\n\n{found.summary}\n\nWay out: {found.help}"]
    for refused, lifted in found.examples:
        parts.append("Refused:\n\n" + indent(refused.rstrip("\n"), "    "))
        parts.append("Lifted:\n\n" + indent(lifted.rstrip("\n"), "    "))
    return "\n\n".join(parts) + "\n"
