"""The longest loop of a module's functions, and the part of a plan that makes a class of it."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass

from codemods.audit.report import Answer, LoopReport
from codemods.program.lifting import Analysis
from codemods.program.loops import statements_with_loops

# Shorter ones are no reason to take a function apart.
_LEAST = 20


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop's statement, its function, and which of the statements with loops there it is, from 1; the class
    that it could become.
    """

    function: str
    node: ast.stmt
    at: int
    class_name: str

    @property
    def lines(self) -> int:
        """The number of its lines."""
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    def report(self, answer: Answer, no_plan: str | None = None) -> LoopReport:
        """Report what would become of it."""
        first, last = self.node.lineno, self.node.end_lineno or self.node.lineno
        return LoopReport(self.function, first, last, answer, no_plan)


def longest_loop(analysis: Analysis) -> Loop | None:
    """Find the longest of at least twenty lines in the functions of a module's top level."""
    functions = (node for node in analysis.source.tree.body if isinstance(node, ast.FunctionDef))
    loops = (
        Loop(node.name, statement, at, _class_name(analysis, node.name))
        for node in functions
        for at, statement in enumerate(statements_with_loops(node), 1)
    )
    return max((loop for loop in loops if loop.lines >= _LEAST), key=lambda loop: loop.lines, default=None)


def _class_name(analysis: Analysis, function: str) -> str:
    stem = "".join(part.capitalize() for part in function.split("_")) + "Loop"
    names = itertools.chain([stem], (f"{stem}{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in analysis.tree.names)
