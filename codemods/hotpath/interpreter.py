"""Goes through functions with arguments of certain kinds, each combination once, and collects what stalls."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from codemods.hotpath.annotations import annotation_kind
from codemods.hotpath.arguments import Arguments
from codemods.hotpath.binding import Parameters, uses, vague
from codemods.hotpath.config import Config
from codemods.hotpath.effects import Effects, Field, outdated
from codemods.hotpath.frame import Frame, Stall
from codemods.hotpath.kinds import BOTTOM, HOST, UNKNOWN, Kind, join, seq
from codemods.hotpath.loops import LoopRules
from codemods.hotpath.modules import Class, Function, Module, decorators
from codemods.hotpath.program import Program
from codemods.hotpath.results import Heat, Loop, Place, Step
from codemods.hotpath.spelling import Written
from codemods.hotpath.tree import inside

_BUILTINS = frozenset(dir(builtins))
# Waits that are asked for by name wait even if nothing is queued on this stream.
_DRAINS = frozenset({"HP011", "HP012"})
_ALWAYS = frozenset({"HP010", "HP011", "HP012", "HP017", "HP018"})
# Ways from one function to one stall; only one where a function leads to so many stalls.
_MOST_PATHS = 8
_MANY_STALLS = 200
_MOST_CONTEXTS = 16
_DEEPEST = 40


_DEFAULT_DEVICE = re.compile(
    r"set_default_device\((?!\s*[\"']cpu)|set_default_tensor_type\([^)]*cuda", re.IGNORECASE
)


# One setting of all distributions, whatever class it is set by.
_UNVALIDATED = re.compile(r"set_default_validate_args\(\s*(?:value\s*=\s*)?False")


class Summary(NamedTuple):
    """Summary of a call: its result, whether the device is idle after it, and its syncs."""

    result: Kind
    fenced: bool
    stalls: tuple[tuple[Stall, bool], ...]
    effects: Effects


@dataclass(frozen=True, slots=True)
class Tables:
    """How each sort of syntax is gone through, and how a value of some kind is called.

    Attributes:
        expressions: give the kind of an expression.
        statements: go through a statement, and say if what follows it can run.
        apply: calls a kind with arguments; the node is the call.
    """

    expressions: dict[type[ast.expr], Callable[[Interpreter, Frame, Any], Kind]]
    statements: dict[type[ast.stmt], Callable[[Interpreter, Frame, Any], bool]]
    apply: Callable[[Interpreter, Frame, ast.Call, Kind, Arguments], Kind]


class Interpreter:
    """State that all functions share while they are gone through.

    Attributes:
        fields: kinds of attributes, by class, as far as assignments tell.
        hooked: something in the program registers hooks.
        heats: of loops, environments' left aside.
        cold: functions that a comment says are.
        loops: hot ones that were gone through.
        nested: functions inside functions that were met, by their definition.
    """

    def __init__(self, program: Program, rules: LoopRules, config: Config, tables: Tables) -> None:
        self.tables = tables
        self._expressions = tables.expressions
        self._statements = tables.statements
        self.program = program
        self.rules = rules
        self.written = Written(rules)
        self.on_device = any(_DEFAULT_DEVICE.search(module.text) for module in program.modules)
        self.validates = not any(_UNVALIDATED.search(module.text) for module in program.modules)
        self.hooked = any("_hook(" in module.text for module in program.modules)
        self.heats: dict[ast.AST, Heat] = {}
        self.cold: set[ast.AST] = set()
        self.config = config
        self.reported = config.reported
        self.fields: dict[tuple[Class, str], Kind] = {}
        self.loops: dict[Loop, None] = {}
        self._effects = Effects()
        self._memo: dict[tuple[object, ...], Summary] = {}
        self._contexts: Counter[Function] = Counter()
        self._counted: set[Effects] = set()
        self._running: set[tuple[object, ...]] = set()
        self._globals: dict[tuple[object, ...], tuple[Kind, Effects]] = {}
        self._parameters: dict[Function, Parameters] = {}
        self.nested: dict[ast.AST, Function] = {}
        self._annotated: dict[tuple[ast.expr, Class | None], Kind] = {}
        self._initialised: set[Class] = set()
        self.asides: list[Effects] = []
        self._depth = 0

    def refresh(self, passes: Iterable[Effects]) -> set[Effects]:
        """Drop what was concluded from kinds of attributes that have changed since, and say what was."""
        known = [summary.effects for summary in self._memo.values()]
        stale = outdated((*passes, *known, *(found[1] for found in self._globals.values())), self._told)
        if stale:
            # What a nested function does to variables around it must be done again where those are new.
            self._memo = {
                key: summary
                for key, summary in self._memo.items()
                if key[-1] is None and summary.effects not in stale
            }
            self._globals = {key: found for key, found in self._globals.items() if found[1] not in stale}
            self._contexts.clear()
            self._counted.clear()
        return stale

    def count(self, effects: Effects) -> None:
        """Count what a pass goes through among the ways that functions are called."""
        waiting = [effects]
        while waiting:
            one = waiting.pop()
            if one not in self._counted:
                self._counted.add(one)
                if one.function is not None:
                    self._contexts[one.function] += 1
                waiting += one.inner

    def _told(self, name: Field) -> Kind:
        return self.fields.get(name, UNKNOWN)

    def enter(self, place: Function | Module) -> Effects:
        """Go through a function whose callers are not known, or the statements of a module."""
        with self._apart() as effects:
            if isinstance(place, Module):
                self._enter_module(place)
            else:
                self._enter_function(place)
        return effects

    @contextmanager
    def _apart(self) -> Iterator[Effects]:
        outer, self._effects = self._effects, Effects()
        try:
            yield self._effects
        finally:
            self._effects = outer

    def _enter_function(self, function: Function) -> None:
        this = Kind("obj", (function.cls,)) if function.cls is not None else None
        frame = Frame(function.module, function, None)
        frame.uses = uses(function)
        frame.env.update(self._parameters_of(function).bind(this, (), {}, known=False))
        if function.node in self.cold:
            frame.hot = "once"
        self._keep_cold(function, self._run(frame, function).stalls)

    def _keep_cold(self, function: Function, stalls: tuple[tuple[Stall, bool], ...]) -> None:
        """Note what stalls outside of hot loops, if that is asked for."""
        if not stalls or "once" not in self.config.heat:
            return
        node = function.node
        place = self.written.place(function.module, node)
        start = Loop(place, f"def {function.name}", function.qualname, node.end_lineno or node.lineno, "once")
        for stall, rare in stalls:
            self._effects.found(start, stall, rare)

    def _enter_module(self, module: Module) -> None:
        frame = Frame(module, None, None)
        self.run_block(frame, module.body)
        if "once" in self.config.heat:
            start = Loop(
                Place(module.path, 1, 1, 1, 1), module.name.rpartition(".")[2], "", len(module.text), "once"
            )
            for stall, rare in frame.stalls.items():
                self._effects.found(start, stall, rare)

    def evaluate(self, frame: Frame, node: ast.expr) -> Kind:
        """The kind of an expression; what stalls in it is reported."""
        return self._expressions[type(node)](self, frame, node)

    def each(self, frame: Frame, nodes: Iterable[ast.expr]) -> tuple[Kind, ...]:
        """The kinds of several expressions, in order."""
        expressions = self._expressions
        return tuple([expressions[type(node)](self, frame, node) for node in nodes])

    def run_block(self, frame: Frame, body: list[ast.stmt]) -> bool:
        """Go through statements; whether what follows them can run."""
        statements = self._statements
        rare = frame.rare
        try:
            for node in body:
                run = statements.get(type(node))
                if run is not None and not run(self, frame, node):
                    return False
            return True
        finally:
            frame.rare = rare

    def apply(self, frame: Frame, node: ast.Call, callee: Kind, arguments: Arguments) -> Kind:
        """Call something of a kind."""
        return self.tables.apply(self, frame, node, callee, arguments)

    def lookup(self, frame: Frame, name: str) -> Kind:
        """The kind of a name."""
        found = frame.find(name)
        return self.global_kind(frame.module, name) if found is None else found

    def report(self, frame: Frame, code: str, node: ast.expr) -> None:
        """Note that an expression stalls, unless nothing can be queued here."""
        if code not in self.reported or frame.quiet or (frame.fenced and code not in _ALWAYS):
            return
        if frame.draining and code in _DRAINS:
            return
        text = self.written.text(node)
        place = self.written.place(frame.module, node)
        self._charge(frame, (code, text, place, frame.qualname, ()), frame.rare)

    def _take_over(
        self, frame: Frame, node: ast.AST, function: Function, stalls: tuple[tuple[Stall, bool], ...]
    ) -> None:
        """Take over what stalls in a function that is called here."""
        if not stalls:
            return
        step = Step(self.written.place(frame.module, node), function.qualname)
        most = 1 if len(frame.stalls) + len(stalls) > _MANY_STALLS else _MOST_PATHS
        seen: dict[tuple[str, Place], int] = {}
        for (code, text, place, qualname, steps), rare in stalls:
            if step in steps or (frame.draining and code in _DRAINS):
                continue
            number = seen[code, place] = seen.get((code, place), 0) + 1
            if number > most:
                self._effects.truncated[place] = None
                continue
            self._charge(frame, (code, text, place, qualname, (step, *steps)), rare or frame.rare)

    def _charge(self, frame: Frame, stall: Stall, rare: bool) -> None:
        """Charge a stall to the innermost hot loop, or leave it to the caller."""
        if frame.loops:
            self._effects.found(frame.loops[-1], stall, rare)
        else:
            frame.stalls[stall] = rare and frame.stalls.get(stall, True)

    def heat_of(self, frame: Frame, node: ast.AST, per_env: bool) -> Heat | None:
        """How hot a loop is here; None if it is no hotter than what is around it."""
        heat, around = self.heats.get(node), frame.heat
        if heat == "once" or around == "once":
            return None if around == "once" else heat
        if per_env:
            return "env"
        return None if heat is None or around == "env" or (heat == "epoch" and around == "step") else heat

    def not_followed(self, frame: Frame, node: ast.AST, why: str) -> None:
        """Note a call in a hot loop that was not gone into."""
        if frame.in_loop:
            self._effects.unfollowed[node] = frame.module, why

    def call(
        self,
        caller: Frame,
        node: ast.AST,
        function: Function,
        this: Kind | None,
        args: tuple[Kind, ...] = (),
        kwargs: Mapping[str, Kind] | None = None,
        outer: Frame | None = None,
    ) -> Kind:
        """Call a function: its result; what stalls in it is charged to the caller."""
        hot: Heat | None = "once" if function.node in self.cold else caller.heat
        effects = self._effects
        effects.entered.add(function)
        if hot in ("env", "step"):
            effects.hot.add(function)
            effects.followed.add(node)
        frame = Frame(function.module, function, outer, fenced=caller.fenced, hot=hot)
        frame.on_device = caller.on_device
        frame.quiet = caller.quiet
        frame.uses = uses(function)
        known = self._contexts[function] < _MOST_CONTEXTS
        frame.env.update(self._parameters_of(function).bind(this, args, kwargs or {}, known=known))
        captured = None if outer is None else _captured(function, outer)
        key = (function, tuple(frame.env.values()), frame.fenced, hot, frame.on_device, frame.quiet, captured)
        summary = self._memo.get(key)
        if summary is None:
            if key in self._running or self._depth > _DEEPEST:
                self.not_followed(caller, node, "recursion")
                return self._declared(function)
            self._running.add(key)
            self._depth += 1
            self._effects = Effects(function)
            self.count(self._effects)
            effects.inner[self._effects] = None
            try:
                summary = self._memo[key] = self._run(frame, function)
            finally:
                self._effects = effects
                self._running.discard(key)
                self._depth -= 1
        else:
            effects.inner[summary.effects] = None
            self.count(summary.effects)
        caller.fenced = summary.fenced
        if function.node in self.cold:
            self._keep_cold(function, summary.stalls)
        else:
            self._take_over(caller, node, function, summary.stalls)
        return summary.result

    def call_special(
        self, frame: Frame, node: ast.AST, kind: Kind, names: tuple[str, ...], args: tuple[Kind, ...] = ()
    ) -> None:
        """Call the first method of these names that the classes of an object have, as Python itself does."""
        for cls in kind.of if kind.tag == "obj" else ():
            found = next(filter(None, (self.program.method(cls, name) for name in names)), None)
            if found is not None:
                self.call(frame, node, found, Kind("obj", (cls,)), args)

    def _parameters_of(self, function: Function) -> Parameters:
        found = self._parameters.get(function)
        if found is None:
            found = self._parameters[function] = Parameters(function, self.annotated, self.program)
        return found

    def function(self, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Function:
        """The function of a definition inside another one."""
        found = self.nested.get(node)
        if found is None:
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            around = frame.qualname
            qualname = f"{around}.{name}" if around else name
            names = () if isinstance(node, ast.Lambda) else decorators(node)
            found = self.nested[node] = Function(frame.module, qualname, node, None, names)
        return found

    def global_kind(self, module: Module, name: str) -> Kind:
        """The kind of a name at the level of a module."""
        return self._kept((module, name), lambda: self._global(module, name))

    def _kept(self, key: tuple[object, ...], find: Callable[[], Kind]) -> Kind:
        """Return what was found before, or is now; nothing while it is being found."""
        found = self._globals.get(key)
        if found is None:
            with self._apart() as effects:
                self._globals[key] = UNKNOWN, effects
                found = self._globals[key] = find(), effects
        kind, effects = found
        if effects.asked or effects.inner:
            self._effects.inner[effects] = None
        return kind

    def _global(self, module: Module, name: str) -> Kind:
        member = self.program.member(module, name)
        if member is None:
            return Kind("ext", f"builtins.{name}") if name in _BUILTINS else UNKNOWN
        return self.definition_kind(member)

    def decorated(self, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef, plain: Kind) -> Kind:
        """Return the kind of a function after its decorators, where they are of the program."""
        kind = plain
        for item in reversed(node.decorator_list):
            decorator = self.evaluate(frame, item)
            if decorator.tag == "fn":
                made = self.apply(frame, ast.Call(item, [], []), decorator, Arguments((kind,)))
                kind = made if made.tag == "fn" else kind
        return kind

    def definition_kind(self, member: object) -> Kind:
        """The kind of what a dotted name stands for."""
        if isinstance(member, Function):
            plain = Kind("fn", ((member, None, None),))
            node = member.node
            if not member.decorators or isinstance(node, ast.Lambda):
                return plain
            frame = Frame(member.module, None, None)
            return self._kept(("decorated", member), lambda: self.decorated(frame, node, plain))
        if isinstance(member, Class):
            return Kind("cls", (member,))
        if isinstance(member, Module):
            return Kind("mod", member)
        if isinstance(member, str):
            return Kind("ext", member)
        assert isinstance(member, tuple)
        return self._kept(("variable", *member), lambda: self._variable(*member))

    def _variable(self, module: Module, name: str) -> Kind:
        annotation, value = module.values[name]
        kind = annotation_kind(annotation, module, self.program)
        if kind.tag == "unknown" and value is not None:
            for bound in (value, *module.rebound.get(name, ())):
                kind = join(
                    kind if bound is not value else BOTTOM, self.evaluate(Frame(module, None, None), bound)
                )
        return kind

    def annotated(self, node: ast.expr | None, module: Module, cls: Class | None = None) -> Kind:
        """The kind that an annotation states."""
        if node is None:
            return UNKNOWN
        found = self._annotated.get((node, cls))
        if found is None:
            found = self._annotated[node, cls] = annotation_kind(node, module, self.program, cls)
        return found

    def field(self, cls: Class, name: str) -> Kind:
        """The kind of an attribute: as annotated, else as assigned where that was seen."""
        passed: list[Class] = []
        for item in self.program.mro(cls):
            if isinstance(item, Class):
                if name in item.fields:
                    kind = self.annotated(item.fields[name], item.module, item)
                    if not vague(kind):
                        return kind
                if (item, name) in self.fields:
                    self._told_nothing(passed, name)
                    return self._ask(item, name)
                passed.append(item)
                if name in item.values and name not in item.fields:
                    self._told_nothing(passed, name)
                    return self.evaluate(Frame(item.module, None, None), item.values[name])
        self._told_nothing(passed[1:], name)
        return self._ask(cls, name)

    def _told_nothing(self, classes: Iterable[Class], name: str) -> None:
        for cls in classes:
            self._effects.asked.setdefault((cls, name), UNKNOWN)

    def _ask(self, cls: Class, name: str) -> Kind:
        if cls not in self._initialised:
            self._initialised.add(cls)
            init = cls.methods.get("__init__")
            if init is not None:
                self.asides.append(self.enter(init))
        kind = self.fields.get((cls, name), UNKNOWN)
        self._effects.asked.setdefault((cls, name), kind)
        return kind

    def set_field(self, cls: Class, name: str, kind: Kind) -> None:
        """Note an assignment to an attribute."""
        key = cls, name
        before = self.fields.get(key)
        self.fields[key] = kind if before is None else join(before, kind)

    def _run(self, frame: Frame, function: Function) -> Summary:
        """Go through a function's body."""
        node = function.node
        if isinstance(node, ast.Lambda):
            result = self.evaluate(frame, node.body)
        else:
            falls_through = self.run_block(frame, node.body)
            if frame.yielded.tag != "bottom":
                result = seq(frame.yielded)
            else:
                result = join(frame.returned, HOST) if falls_through else frame.returned
            stated = self.annotated(node.returns, function.module, function.cls)
            if (not vague(stated) and stated.tag not in ("tensor", "mask")) or (
                stated.tag == "tensor" and result.tag not in ("cpu", "mask")
            ):
                result = stated
            if result.tag == "bottom":
                result = UNKNOWN
        return Summary(result, frame.fenced, tuple(frame.stalls.items()), self._effects)

    def _declared(self, function: Function) -> Kind:
        """Return the declared result of a function."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return UNKNOWN
        return self.annotated(node.returns, function.module, function.cls)


def _captured(function: Function, outer: Frame) -> tuple[object, ...]:
    """The kinds of what a function may capture, for telling one call of it from another."""
    if function.names is None:
        function.names = frozenset(node.id for node in inside(function.node) if isinstance(node, ast.Name))
    found: list[object] = []
    frame: Frame | None = outer
    while frame is not None:
        found += [(name, kind) for name, kind in frame.env.items() if name in function.names]
        frame = frame.outer
    return tuple(found)
