"""One function while it is gone through: its variables, the loops around, and what was found in it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from codemods.hotpath.kinds import BOTTOM, UNKNOWN, Kind, join
from codemods.hotpath.loops import normalise
from codemods.hotpath.modules import Class, Function, Module
from codemods.hotpath.results import Loop, Place, Step

if TYPE_CHECKING:
    from codemods.hotpath.machine import Machine

Env = dict[str, Kind]
Stall = tuple[str, str, Place, str, tuple[Step, ...]]
"""A stall outside of any loop of its function: code, text, place, function, calls that lead there."""

# Waits that are asked for by name wait even if nothing is queued on this stream.
_DRAINS = frozenset({"HP011", "HP012"})
_ALWAYS = frozenset({"HP010", "HP011", "HP012", "HP017", "HP018"})
# Ways from one function to one stall; only one where a function leads to so many stalls.
_MOST_PATHS = 8
_MANY_STALLS = 200


class Frame:
    """The state of going through one function with arguments of certain kinds.

    Attributes:
        env: kinds of its variables.
        outer: the frame whose variables it captures.
        fenced: everything queued on the device is known to be done here.
        hot: it was called from inside a loop over environments.
        loops: loops over environments around the present statement, in this function.
        stalls: found outside of them; the caller may have one.
        draining: the loop around does nothing but wait for one stream after the other.
        exits: states at ``break`` and ``continue`` of the innermost loop.
    """

    __slots__ = ("cls", "draining", "env", "exits", "fenced", "function", "hot", "loops", "machine", "module",
                 "nonlocals", "outer", "returned", "stalls", "yielded")  # fmt: skip

    def __init__(
        self, machine: Machine, module: Module, function: Function | None, outer: Frame | None, *,
        fenced: bool = False, hot: bool = False,
    ) -> None:  # fmt: skip
        self.machine = machine
        self.module = module
        self.function = function
        self.cls: Class | None = function.cls if function is not None else None
        self.outer = outer
        self.env: Env = {}
        self.fenced = fenced
        self.hot = hot
        self.loops: list[Loop] = []
        self.stalls: dict[Stall, None] = {}
        self.returned: Kind = BOTTOM
        self.yielded: Kind = BOTTOM
        self.exits: list[tuple[Env, bool]] = []
        self.nonlocals: set[str] = set()
        self.draining = False

    @property
    def in_loop(self) -> bool:
        """Whether what runs now runs once per environment."""
        return self.hot or bool(self.loops)

    @property
    def qualname(self) -> str:
        """Of the function; empty at the level of the module."""
        return "" if self.function is None else self.function.qualname

    def evaluate(self, node: ast.expr) -> Kind:
        """The kind of an expression; what stalls in it is reported."""
        return EXPRESSIONS[type(node)](self, node)

    def lookup(self, name: str) -> Kind:
        """The kind of a name."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.env.get(name)
            if found is not None:
                return found
            frame = frame.outer
        return self.machine.global_kind(self.module, name)

    def bind(self, name: str, kind: Kind) -> None:
        """Bind a name."""
        if name in self.nonlocals:
            frame = self.outer
            while frame is not None:
                if name in frame.env:
                    frame.env[name] = join(frame.env[name], kind)
                    return
                frame = frame.outer
        self.env[name] = UNKNOWN if kind.tag == "bottom" else kind

    def merge(self, name: str, kind: Kind) -> None:
        """Change what a variable holds, wherever it lives."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                frame.env[name] = kind
                return
            frame = frame.outer

    def place(self, node: ast.AST) -> Place:
        """Where a node is."""
        return self.machine.place(self.module, node)

    def report(self, code: str, node: ast.expr) -> None:
        """Note that an expression stalls, unless nothing can be queued here."""
        machine = self.machine
        if code not in machine.reported or (self.fenced and code not in _ALWAYS):
            return
        if self.draining and code in _DRAINS:
            return
        text = machine.text(node)
        place = self.place(node)
        if self.loops:
            machine.found(self.loops[-1], (code, text, place, self.qualname, ()))
        else:
            self.stalls[code, text, place, self.qualname, ()] = None

    def called(self, node: ast.AST, function: Function, stalls: tuple[Stall, ...]) -> None:
        """Take over what stalls in a function that is called here."""
        if not stalls:
            return
        step = Step(self.place(node), function.qualname)
        loop = self.loops[-1] if self.loops else None
        most = 1 if len(self.stalls) + len(stalls) > _MANY_STALLS else _MOST_PATHS
        seen: dict[tuple[str, Place], int] = {}
        for code, text, place, qualname, steps in stalls:
            if step in steps or (self.draining and code in _DRAINS):
                continue
            number = seen[code, place] = seen.get((code, place), 0) + 1
            if number > most:
                self.machine.truncated[place] = None
                continue
            stall = (code, text, place, qualname, (step, *steps))
            if loop is not None:
                self.machine.found(loop, stall)
            else:
                self.stalls[stall] = None


EXPRESSIONS: dict[type[ast.expr], Callable[[Frame, ast.expr], Kind]] = {}
"""How each sort of expression is evaluated."""


def expression(*types: type[ast.expr]) -> Callable[[Callable[..., Kind]], Callable[..., Kind]]:
    """Register how a sort of expression is evaluated."""

    def register(function: Callable[..., Kind]) -> Callable[..., Kind]:
        for type_ in types:
            EXPRESSIONS[type_] = function
        return function

    return register


def one_line(node: ast.AST) -> str:
    """A node's code, the same however it was laid out."""
    return normalise(ast.unparse(node))
