"""Which function a place in a text is in, and who calls it by name."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from codemods.hotpath.loops import LoopRules
from codemods.hotpath.modules import Function, Module

_MOST_CALLERS = 6
_CALL = re.compile(r"\b(\w++)\s*+\(")
_DEFINED = ("def ", "class ")
_LOOPS = re.compile(r"\b(?:for|while|map|imap|starmap)\b")


class Places:
    """Which function a place in a text is in."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules
        self._functions: dict[Module, tuple[list[int], list[Function]]] = {}
        self._index: dict[str, list[tuple[Module, int]]] | None = None
        self._callers: dict[Function, list[Function | Module]] = {}

    def at(self, module: Module, offset: int) -> Function | Module:
        """The function around an offset in a module's text, or the module."""
        return self.on_line(module, bisect.bisect_right(module.starts, offset))

    def on_line(self, module: Module, line: int) -> Function | Module:
        """The function around a line, or the module."""
        if module not in self._functions:
            functions = sorted(module.all_functions(), key=lambda f: f.node.lineno)
            self._functions[module] = [f.node.lineno for f in functions], functions
        first, functions = self._functions[module]
        index = bisect.bisect_right(first, line) - 1
        if index >= 0 and line <= (functions[index].node.end_lineno or 0):
            return functions[index]
        return module

    def mentioning(self, module: Module, rules: LoopRules) -> dict[Function | Module, None]:
        """Functions with a loop and a word that may make it one over environments."""
        found = {self.at(module, offset): None for offset in rules.mentions(module.text)}
        return {
            place: None
            for place in found
            if isinstance(place, Module) or _LOOPS.search(module.text, *self._span(place))
        }

    def _span(self, function: Function) -> tuple[int, int]:
        starts = function.module.starts
        end = function.node.end_lineno or 0
        return starts[function.node.lineno - 1], starts[end] if end < len(starts) else len(
            function.module.text
        )

    def callers(self, function: Function, most: int = _MOST_CALLERS) -> list[Function | Module]:
        """Functions, tests aside, in whose text the function, or its class, is called; none if too many."""
        if function not in self._callers:
            self._callers[function] = self._find(function)
        found = self._callers[function]
        return found if len(found) <= most else []

    def naming(self, name: str) -> list[Function | Module]:
        """Functions and modules, tests aside, in whose text something of a name is called."""
        return list(dict.fromkeys(self.at(module, offset) for module, offset in self._calls(name)))

    def _find(self, function: Function) -> list[Function | Module]:
        name = function.name if function.cls is None else function.cls.name.rpartition(".")[2]
        found: dict[Function | Module, None] = {}
        for module, offset in self._calls(name):
            place = self.at(module, offset)
            if place is not function:
                found[place] = None
        return list(found)

    def _calls(self, name: str) -> Iterator[tuple[Module, int]]:
        """Where a name stands before a parenthesis, outside of tests."""
        if self._index is None:
            self._index = {}
            for module in self.modules:
                for match in () if module.is_test else _CALL.finditer(module.text):
                    self._index.setdefault(match[1], []).append((module, match.start()))
        for module, offset in self._index.get(name, ()):
            if not module.text.endswith(_DEFINED, max(0, offset - 6), offset):
                yield module, offset
