"""The check itself: from the bytes of files to a report."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from codemods.hotpath.calls import TABLES
from codemods.hotpath.config import Config
from codemods.hotpath.effects import Effects, Gathered
from codemods.hotpath.heat import Heats
from codemods.hotpath.identity import body
from codemods.hotpath.interpreter import Interpreter
from codemods.hotpath.loops import LoopRules
from codemods.hotpath.modules import Function, Module
from codemods.hotpath.places import Places
from codemods.hotpath.pragmas import Pragma, apply_pragmas, find_pragmas, marks
from codemods.hotpath.program import Program
from codemods.hotpath.results import Finding, Place, Report
from codemods.hotpath.trees import File
from codemods.program.source import SourceError, analysing

_ROUNDS = 3
_MOST_LEVELS = 2


def analyse(files: Sequence[File], config: Config) -> Report:
    """Find what stalls the device in the hot loops of some files; what can't be looked at is a finding."""
    wrong: list[Finding] = []
    modules: list[Module] = []
    pragmas: list[Pragma] = []
    with analysing():
        for file in files:
            try:
                if file.problem is not None:
                    raise SourceError(f"{file.path}: {file.problem}")
                module = Module(file.path, file.module, file.data, is_package=file.is_package)
                pragmas += find_pragmas(module.path, module.text)
            except SourceError as error:
                wrong.append(_unread(file.path, str(error)))
            except RecursionError:
                wrong.append(_unread(file.path, f"{file.path}: nested too deeply to be looked at"))
            else:
                modules.append(module)
        run = _Run(modules, config, pragmas)
    findings = [
        Finding(code, text, place, function, loop, steps, rare)
        for (loop, (code, text, place, function, steps)), rare in run.found.findings.items()
    ]
    kept, allowed = apply_pragmas(findings, pragmas, run.heeded)
    reported = config.reported
    cooler = {(f.place, f.code, f.heat) for f in kept if f.heat is not None and f.heat not in config.heat}
    kept = [finding for finding in kept if finding.heat is None or finding.heat in config.heat]
    shown = {(finding.place, finding.code) for finding in kept}
    cooler = {item for item in cooler if item[1] in reported and item[:2] not in shown}
    kept += [*wrong, *run.wrong.values()]
    if config.per_path_ignores:
        kept = [finding for finding in kept if finding.code not in config.ignored_in(finding.place.path)]
    return Report(
        findings=tuple(sorted((f for f in kept if f.code in reported), key=lambda finding: finding.order)),
        allowed=tuple(sorted(allowed, key=lambda item: item.finding.order)),
        loops=tuple(
            sorted((loop for loop in run.it.loops if loop.heat != "once"), key=lambda loop: loop.place)
        ),
        files=len(files),
        lines=sum(module.text.count("\n") for module in modules),
        truncated=tuple(sorted(run.found.truncated)),
        functions=len(run.found.hot),
        followed=len(run.found.followed),
        unfollowed=tuple(sorted(_unfollowed(run))),
        hidden=tuple(Counter(heat for *_, heat in cooler).most_common()),
        tests=sum(module.is_test for module in modules),
        contents={file.path: hashlib.blake2b(file.data, digest_size=8).hexdigest() for file in files},
        bodies=_bodies(run, kept),
    )


def _bodies(run: _Run, findings: Sequence[Finding]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Map functions that hold a finding or a hot loop to the calls in them."""
    holders = {(finding.place.path, finding.function) for finding in findings}
    holders |= {(loop.place.path, loop.function) for loop in run.it.loops}
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for place in run.functions():
        module = place if isinstance(place, Module) else place.module
        name = module.path, "" if isinstance(place, Module) else place.qualname
        statements = place.body if isinstance(place, Module) else getattr(place.node, "body", ())
        held = name in holders and isinstance(statements, list)
        found[name] = body(statements) if held else ()
    return found


def _unfollowed(run: _Run) -> Iterator[tuple[Place, str, str]]:
    for node, (module, why) in run.found.unfollowed.items():
        if isinstance(node, ast.expr):
            yield run.it.written.place(module, node), run.it.written.text(node), why


def _unread(path: str, message: str) -> Finding:
    told = message.removeprefix(f"{path}:")
    line = re.match(r"(\d+):(?:\d+:)?", told)
    at = int(line[1]) if line else 1
    text = told[line.end() :].strip() if line else told.strip()
    return Finding("HP903", text, Place(path, at, 1, at, 1), "", None)


class _Run:
    """One pass over a program.

    Attributes:
        it: what was learnt.
        found: what it brought to light.
        heeded: lines of loops and functions at which a comment says whether they are hot.
        wrong: functions that could not be gone through.
    """

    def __init__(self, modules: list[Module], config: Config, pragmas: list[Pragma]) -> None:
        self.rules = LoopRules(config)
        self.modules = modules
        self.config = config
        program = Program(modules)
        self.places = Places(modules)
        self.it = Interpreter(program, self.rules, config, TABLES)
        marked = marks(pragmas)
        self.heats = Heats(program, self.rules, self.places, marked)
        self.it.heats = self.heats.found
        self.heeded = self.heats.heeded
        self.it.cold = self.heats.cold
        self.wrong: dict[Function | Module, Finding] = {}
        entries = self._entries()
        passes: dict[Function | Module, Effects] = {}
        for _ in range(_ROUNDS):
            self.found = Gathered()
            self.it.asides.clear()
            for place in entries:
                if place in self.found.entered:
                    continue
                if place in passes:
                    self.it.count(passes[place])
                else:
                    passes[place] = self._enter(place)
                self.found.take(passes[place])
            for aside in self.it.asides:
                self.found.take(aside)
            stale = self.it.refresh(passes.values())
            if not stale:
                break
            for place in [place for place, effects in passes.items() if effects in stale]:
                del passes[place]
                self.wrong.pop(place, None)

    def functions(self) -> Iterator[Function | Module]:
        """All modules and functions, and what is defined inside those that were gone through."""
        for module in self.modules:
            yield module
            yield from module.all_functions()
        yield from self.it.nested.values()

    def _enter(self, place: Function | Module) -> Effects:
        effects = Effects()
        try:
            return self.it.enter(place)
        except RecursionError:
            module = place if isinstance(place, Module) else place.module
            line = 1 if isinstance(place, Module) else place.node.lineno
            text = "the module" if isinstance(place, Module) else place.qualname
            where = Place(module.path, line, 1, line, 1)
            self.wrong[place] = Finding(
                "HP903", f"{text}: nested too deeply to be looked at", where, "", None
            )
        return effects

    def _entries(self) -> list[Function | Module]:
        """Functions that may have a hot loop, each after those that may call it."""
        ordered: dict[Function | Module, None] = {}

        def visit(place: Function | Module, level: int, path: frozenset[Function]) -> None:
            if place in ordered or place in path:
                return
            if isinstance(place, Function) and level < _MOST_LEVELS:
                for caller in self.places.callers(place):
                    visit(caller, level + 1, path | {place})
            ordered.setdefault(place)

        for module in self.modules:
            for candidate in self.places.mentioning(module, self.rules):
                visit(candidate, 0, frozenset())
        for candidate in self.heats.places:
            visit(candidate, 0, frozenset())
        if "once" in self.config.heat:
            for module in self.modules:
                for function in () if module.is_test else module.all_functions():
                    visit(function, 0, frozenset())
                ordered.setdefault(module)
        return list(ordered)
