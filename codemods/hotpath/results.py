"""Findings as data, with their loop and the calls that lead from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from codemods.hotpath.codes import CODES
from codemods.hotpath.identity import form

State = Literal["new", "unchanged", "allowed"]
Heat = Literal["env", "step", "every-n", "epoch", "once"]
"""How often something runs: per environment, per step, every so many steps, per epoch, or once."""
HEATS: tuple[Heat, ...] = ("env", "step", "every-n", "epoch", "once")


class Place(NamedTuple):
    """Where something is: path relative to the project, lines from 1, columns from 1 in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


class Loop(NamedTuple):
    """A loop that is hot, or, where also what runs once is asked for, a function that runs outside of all.

    Attributes:
        place: of its head.
        header: its code, with ``self.`` left out.
        function: around it; empty at the level of a module.
        last_line: of its body.
        heat: how often its body runs.
    """

    place: Place
    header: str
    function: str
    last_line: int
    heat: Heat = "env"


class Step(NamedTuple):
    """A call on the way from a loop to a finding: where it is, and the function that it enters."""

    place: Place
    function: str


class Operation(NamedTuple):
    """Identity of a finding: an operation, the function that holds it, and how hot it is.

    How the loop is written is no part of it, nor are the names of variables (`form`).
    """

    code: str
    text: str
    path: str
    function: str
    heat: Heat | None

    @property
    def form(self) -> str:
        """The operation in normal form."""
        return form(self.text)

    def digest(self) -> str:
        """Sixteen hexadecimal digits that stay when the function moves to another file."""
        parts = "\0".join((self.code, self.form, self.function))
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Finding:
    """A stall in a hot loop, or something that the checker could not look at or understand.

    Attributes:
        code: of `codemods.hotpath.codes`.
        text: the code that stalls, on one line, without ``self.``.
        place: of it.
        function: around it; empty at the level of a module.
        loop: that repeats it; None for what is not about a loop.
        steps: calls from the loop's body to the function around it, the outermost first.
        rare: it runs every so many rounds only.
    """

    code: str
    text: str
    place: Place
    function: str
    loop: Loop | None
    steps: tuple[Step, ...] = ()
    rare: bool = False

    @property
    def heat(self) -> Heat | None:
        """How often it stalls; None for what is not about a loop."""
        if self.loop is None:
            return None
        return "every-n" if self.rare and self.loop.heat == "step" else self.loop.heat

    @property
    def operation(self) -> Operation:
        """Identity of the finding."""
        return Operation(self.code, self.text, self.place.path, self.function, self.heat)

    @property
    def paths(self) -> set[str]:
        """The files that it goes through, from the loop to the operation."""
        loop = () if self.loop is None else (self.loop.place,)
        return {place.path for place in (self.place, *loop, *(step.place for step in self.steps))}

    @property
    def message(self) -> str:
        """Describe the finding in a sentence."""
        title = CODES[self.code].title
        if self.loop is None:
            return title
        where = f"in `{self.loop.header}`"
        return f"{title} {where}" if not self.steps else f"{title}, called {where}"

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts findings by where they are."""
        loop = () if self.loop is None else (self.loop.place,)
        return (self.place, self.code, *loop, tuple(step.place for step in self.steps))


@dataclass(frozen=True, slots=True)
class Allowed:
    """A finding that an allow comment covers, with the reason it gives."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Result of a check.

    Attributes:
        findings: stalls and wrong comments, by place.
        allowed: those that a comment allows.
        loops: hot loops that were seen.
        files: how many there were.
        lines: how many lines they have.
        truncated: stalls that more call paths lead to than are listed.
        functions: how many run in loops over environments or steps.
        followed: calls in such loops that were gone into.
        unfollowed: those that were not, with their text, and why.
        hidden: places that are less hot than what is asked for, by how hot they are.
        tests: files of tests, in which only loops over environments count.
        contents: digests of the files, by path.
        bodies: functions by path and name, a module by none; calls in those that hold a finding or loop.
    """

    findings: tuple[Finding, ...]
    allowed: tuple[Allowed, ...] = ()
    loops: tuple[Loop, ...] = ()
    files: int = 0
    lines: int = 0
    truncated: tuple[Place, ...] = ()
    functions: int = 0
    followed: int = 0
    unfollowed: tuple[tuple[Place, str, str], ...] = ()
    hidden: tuple[tuple[Heat, int], ...] = ()
    tests: int = 0
    contents: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
