"""What is to be done in one file, in terms of nodes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

Change = Callable[[Any], Any]
Made = Callable[[], Sequence[cst.BaseStatement]]


@dataclass(slots=True)
class Added:
    """Statements to be put before or after one, and how many blank lines set them apart."""

    make: Made
    count: int
    apart: bool


@dataclass(slots=True)
class Place:
    """New lines of a file's top level, that go before a line (from 0), and how many statements they are."""

    line: int
    text: str
    count: int


@dataclass(slots=True)
class Todo:
    """Nodes to be entered, the statements for which some of them stand, and what happens to them.

    ``gone`` are statements that leave their block, with their own comments (true) or without; ``cut`` those
    that leave the top level as whole lines; ``taken`` gets what left.
    """

    entered: set[cst.CSTNode] = field(default_factory=set)
    statements: dict[cst.CSTNode, ast.stmt] = field(default_factory=dict)
    changes: dict[cst.CSTNode, list[Change]] = field(default_factory=lambda: defaultdict(list))
    before: dict[ast.stmt, list[Added]] = field(default_factory=lambda: defaultdict(list))
    after: dict[ast.stmt, list[Added]] = field(default_factory=lambda: defaultdict(list))
    gone: dict[ast.stmt, bool] = field(default_factory=dict)
    cut: set[ast.stmt] = field(default_factory=set)
    taken: dict[ast.stmt, cst.CSTNode] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
