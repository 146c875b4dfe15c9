"""The check itself: from the bytes of files to a report."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence

from codemods.facts.source import no_collection, room_for_nesting
from codemods.hotpath.calls import TABLES
from codemods.hotpath.config import Config
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.loops import LoopRules
from codemods.hotpath.modules import Function, Module
from codemods.hotpath.pragmas import Pragma, apply_pragmas, find_pragmas
from codemods.hotpath.program import Program
from codemods.hotpath.results import Finding, Report
from codemods.hotpath.trees import File

_ROUNDS = 3
_MOST_CALLERS = 6
_MOST_LEVELS = 2
# So many searches through all files cost as much as an index of all calls.
_MANY_NAMES = 150
_CALL = re.compile(r"\b(\w+)\s*\(")
_DEFINED = ("def ", "class ")
_LOOPS = re.compile(r"\b(?:for|while|map|imap|starmap)\b")


def analyse(files: Sequence[File], config: Config) -> Report:
    """Find what stalls the device in the loops over environments of some files.

    Raises:
        SourceError: for a file that is not Python.
    """
    with no_collection(), room_for_nesting():
        modules = [Module(file.path, file.module, file.data, is_package=file.is_package) for file in files]
        it = _run(modules, config)
    findings = [
        Finding(code, text, place, function, loop, steps)
        for loop, (code, text, place, function, steps) in it.findings
    ]
    pragmas: list[Pragma] = []
    for module in modules:
        pragmas += find_pragmas(module.path, module.text)
    kept, allowed = apply_pragmas(findings, pragmas)
    reported = config.reported
    reached = {(f.module.path, f.node.lineno, f.node.end_lineno or f.node.lineno) for f in it.hot}
    return Report(
        findings=tuple(sorted((f for f in kept if f.code in reported), key=lambda finding: finding.order)),
        allowed=tuple(sorted(allowed, key=lambda item: item.finding.order)),
        loops=tuple(sorted(it.loops, key=lambda loop: loop.place)),
        files=len(modules),
        lines=sum(module.text.count("\n") for module in modules),
        reached=tuple(sorted(reached)),
        truncated=tuple(sorted(it.truncated)),
    )


def _run(modules: list[Module], config: Config) -> Interpreter:
    rules = LoopRules(config)
    it = Interpreter(Program(modules), rules, config, TABLES)
    entries = _entries(modules, rules)
    for _ in range(_ROUNDS):
        it.forget()
        for function in entries:
            if isinstance(function, Module):
                it.enter_module(function)
            elif function not in it.entered:
                it.enter(function)
        if not it.dirty:
            break
    return it


def _entries(modules: list[Module], rules: LoopRules) -> list[Function | Module]:
    """Functions that may have a loop over environments, each after those that may call it."""
    places = _Places(modules)
    ordered: dict[Function | Module, None] = {}

    def visit(function: Function, level: int, path: frozenset[Function]) -> None:
        if function in ordered or function in path:
            return
        if level < _MOST_LEVELS:
            for caller in places.callers(function):
                if isinstance(caller, Function):
                    visit(caller, level + 1, path | {function})
                else:
                    ordered.setdefault(caller)
        ordered.setdefault(function)

    for module in modules:
        for candidate in places.mentioning(module, rules):
            if isinstance(candidate, Function):
                visit(candidate, 0, frozenset())
            else:
                ordered.setdefault(candidate)
    return list(ordered)


class _Places:
    """Which function a place in a text is in."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules
        self._functions: dict[Module, tuple[list[int], list[Function]]] = {}
        self._starts: dict[Module, list[int]] = {}
        self._asked = 0
        self._index: dict[str, list[tuple[Module, int]]] | None = None
        self._callers: dict[Function, list[Function | Module]] = {}

    def at(self, module: Module, offset: int) -> Function | Module:
        """The function around an offset in a module's text, or the module."""
        if module not in self._functions:
            functions = sorted(module.all_functions(), key=lambda f: f.node.lineno)
            self._functions[module] = [f.node.lineno for f in functions], functions
            self._starts[module] = [0, *(match.end() for match in re.finditer(r"\n", module.text))]
        line = bisect.bisect_right(self._starts[module], offset)
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
        starts = self._starts[function.module]
        end = function.node.end_lineno or 0
        return starts[function.node.lineno - 1], starts[end] if end < len(starts) else len(
            function.module.text
        )

    def callers(self, function: Function) -> list[Function | Module]:
        """Functions, tests aside, in whose text the function, or its class, is called."""
        if function not in self._callers:
            self._callers[function] = self._find(function)
        return self._callers[function]

    def _find(self, function: Function) -> list[Function | Module]:
        name = function.name if function.cls is None else function.cls.name.rpartition(".")[2]
        found: dict[Function | Module, None] = {}
        for module, offset in self._calls(name):
            place = self.at(module, offset)
            if place is not function:
                found[place] = None
        return list(found) if len(found) <= _MOST_CALLERS else []

    def _calls(self, name: str) -> Iterator[tuple[Module, int]]:
        """Where a name stands before a parenthesis, outside of tests."""
        self._asked += 1
        if self._asked > _MANY_NAMES and self._index is None:
            self._index = {}
            for module in self.modules:
                for match in () if _is_test(module.path) else _CALL.finditer(module.text):
                    self._index.setdefault(match[1], []).append((module, match.start()))
        if self._index is not None:
            for module, offset in self._index.get(name, ()):
                if not module.text.endswith(_DEFINED, max(0, offset - 6), offset):
                    yield module, offset
            return
        pattern = re.compile(rf"\b{re.escape(name)}\s*\(")
        for module in self.modules:
            text = module.text
            at = -1 if _is_test(module.path) else text.find(name)
            while at >= 0:
                if pattern.match(text, at) and not text.endswith(_DEFINED, max(0, at - 6), at):
                    yield module, at
                at = text.find(name, at + 1)


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(("test_", "conftest")) or name.endswith("_test.py") or "tests/" in path
