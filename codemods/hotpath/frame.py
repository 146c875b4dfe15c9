"""One function while it is gone through: its variables, the loops around, and what was found in it."""

from __future__ import annotations

import ast

from codemods.hotpath.kinds import BOTTOM, TENSOR, UNKNOWN, Kind, join
from codemods.hotpath.loops import normalise
from codemods.hotpath.modules import Class, Function, Module
from codemods.hotpath.results import Heat, Loop, Place, Step
from codemods.hotpath.uses import NOTHING

Env = dict[str, Kind]
Stall = tuple[str, str, Place, str, tuple[Step, ...]]
"""A stall outside of any loop of its function: code, text, place, function, calls that lead there."""


class Frame:
    """The state of going through one function with arguments of certain kinds.

    Attributes:
        env: kinds of its variables.
        outer: the frame whose variables it captures.
        fenced: everything queued on the device is known to be done here.
        hot: heat of the loop that it was called from inside of; ``once`` where a comment says it is cold.
        loops: hot loops around the present statement, in this function.
        on_device: tensors made without a device are on it.
        on_host: a layer was given a tensor in host memory here: its module's parameters are there, too.
        quiet: there is no device in this branch.
        uses: what the function's text says of its names.
        rare: the present statement runs every so many rounds only.
        stalls: found outside of such loops, and whether rarely; the caller may have one.
        draining: the loop around does nothing but wait for one stream after the other.
        exits: states at ``break`` and ``continue`` of the innermost loop.
    """

    __slots__ = (
        "cls",
        "draining",
        "env",
        "exits",
        "fenced",
        "function",
        "hot",
        "loops",
        "module",
        "nonlocals",
        "on_device",
        "on_host",
        "outer",
        "quiet",
        "rare",
        "returned",
        "stalls",
        "uses",
        "yielded",
    )  # fmt: skip

    def __init__(
        self, module: Module, function: Function | None, outer: Frame | None, *,
        fenced: bool = False, hot: Heat | None = None,
    ) -> None:  # fmt: skip
        self.module = module
        self.function = function
        self.cls: Class | None = function.cls if function is not None else None
        self.outer = outer
        self.env: Env = {}
        self.fenced = fenced
        self.hot = hot
        self.loops: list[Loop] = []
        self.rare = False
        self.on_device = False
        self.on_host = False
        self.quiet = False
        self.uses = NOTHING
        self.stalls: dict[Stall, bool] = {}
        self.returned: Kind = BOTTOM
        self.yielded: Kind = BOTTOM
        self.exits: list[tuple[Env, bool]] = []
        self.nonlocals: set[str] = set()
        self.draining = False

    @property
    def in_loop(self) -> bool:
        """Tell whether what runs now runs once per environment or step."""
        return self.heat in ("env", "step")

    @property
    def heat(self) -> Heat | None:
        """Of the innermost hot loop around what runs now."""
        return self.loops[-1].heat if self.loops else self.hot

    @property
    def qualname(self) -> str:
        """Of the function; empty at the level of the module."""
        return "" if self.function is None else self.function.qualname

    def find(self, name: str) -> Kind | None:
        """The kind of a variable of this function or of one around it."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.env.get(name)
            if found is not None:
                return found
            frame = frame.outer
        return None

    def bind(self, name: str, kind: Kind) -> None:
        """Bind a name."""
        if kind.tag in ("unknown", "bottom") and kind.of is None and name in self.uses.tensors:
            kind = TENSOR
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


def one_line(node: ast.AST) -> str:
    """A node's code, the same however it was laid out."""
    return normalise(ast.unparse(node))
