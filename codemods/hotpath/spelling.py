"""Facts about nodes by their spelling, looked at once."""

from __future__ import annotations

import ast
import re

from codemods.hotpath.branches import Branch, branch_of
from codemods.hotpath.frame import one_line
from codemods.hotpath.loops import LoopRules
from codemods.hotpath.modules import Function, Module
from codemods.hotpath.results import Place
from codemods.hotpath.rounds import captured, carried
from codemods.hotpath.ticks import ticks_in

_INNER = re.compile(r"\b(?:def|lambda)\b")


class Written:
    """Answers by node."""

    def __init__(self, rules: LoopRules) -> None:
        self._rules = rules
        self._branches: dict[ast.If, Branch] = {}
        self._captured: dict[Function, frozenset[str]] = {}
        self._carried: dict[ast.AST, frozenset[str]] = {}
        self._mapped: dict[ast.Call, bool] = {}
        self._over_envs: dict[ast.AST, bool] = {}
        self._places: dict[ast.AST, Place] = {}
        self._ticks: dict[ast.If, bool] = {}
        self._ticked: set[ast.AST] = set()
        self._texts: dict[ast.AST, str] = {}

    def mapped(self, node: ast.Call) -> bool:
        """Tell whether a call applies a function to each environment."""
        found = self._mapped.get(node)
        if found is None:
            found = self._mapped[node] = self._rules.mapped(node)
        return found

    def over_envs(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> bool:
        """Tell whether a loop's names say that it is over environments."""
        found = self._over_envs.get(node)
        if found is None:
            found = self._over_envs[node] = self._rules.over_envs(node.target, node.iter)
        return found

    def branch(self, node: ast.If) -> Branch:
        """Classify an ``if``."""
        found = self._branches.get(node)
        if found is None:
            found = self._branches[node] = branch_of(node)
        return found

    def enter(self, node: ast.AST) -> None:
        """Look at a hot loop before its body is gone through."""
        if node not in self._ticked and isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self._ticked.add(node)
            self._ticks |= ticks_in(node)

    def tick(self, node: ast.If) -> bool | None:
        """Tell whether an ``if`` in a hot loop holds once in many rounds (True), or in all but few
        (False).
        """
        return self._ticks.get(node)

    def carried(self, function: Function | None, node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
        """Variables that a round of a loop in a function may take over from the one before."""
        found = self._carried.get(node)
        if found is None:
            found = carried(node)
            if function is not None:
                found |= self._captured_in(function)
            self._carried[node] = found
        return found

    def _captured_in(self, function: Function) -> frozenset[str]:
        found = self._captured.get(function)
        if found is None:
            inner = len(_INNER.findall(function.text)) > 1
            found = self._captured[function] = captured(function.node) if inner else frozenset()
        return found

    def place(self, module: Module, node: ast.AST) -> Place:
        """Where a node is."""
        found = self._places.get(node)
        if found is None:
            found = self._places[node] = self._place(module, node)
        return found

    @staticmethod
    def _place(module: Module, node: ast.AST) -> Place:
        if isinstance(node, ast.comprehension):
            first: ast.expr | ast.stmt = node.target
            last: ast.expr | ast.stmt = node.iter
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            first, last = node, node.iter
        elif isinstance(node, ast.While):
            first, last = node, node.test
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            column = node.col_offset + 1
            return Place(module.path, node.lineno, column, node.lineno, column)
        else:
            assert isinstance(node, (ast.expr, ast.stmt))
            first = last = node
        end = last.end_lineno or last.lineno
        return Place(
            module.path,
            first.lineno,
            _column(module, first.lineno, first.col_offset),
            end,
            _column(module, end, last.end_col_offset or 0),
        )

    def text(self, node: ast.expr) -> str:
        """An expression's code on one line."""
        found = self._texts.get(node)
        if found is None:
            found = self._texts[node] = one_line(node)
        return found


def _column(module: Module, line: int, utf8_column: int) -> int:
    """A column from 1 in characters, of one in bytes."""
    text = module.line(line)
    if text.isascii():
        return utf8_column + 1
    return len(text.encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "replace")) + 1
