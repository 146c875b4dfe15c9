"""Goes through functions with arguments of certain kinds, each combination once, and collects what stalls."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from codemods.hotpath.annotated import annotation_kind
from codemods.hotpath.arguments import Arguments
from codemods.hotpath.config import Config
from codemods.hotpath.frame import Frame, Stall, one_line
from codemods.hotpath.kinds import BOTTOM, HOST, TENSOR, UNKNOWN, Kind, join, mapping, seq
from codemods.hotpath.loops import LoopRules
from codemods.hotpath.modules import Class, Function, Module, decorators
from codemods.hotpath.program import Program
from codemods.hotpath.results import Heat, Loop, Place, Step
from codemods.hotpath.uses import Uses, uses_of

_BUILTINS = frozenset(dir(builtins))
# Waits that are asked for by name wait even if nothing is queued on this stream.
_DRAINS = frozenset({"HP011", "HP012"})
_ALWAYS = frozenset({"HP010", "HP011", "HP012", "HP017", "HP018"})
# Ways from one function to one stall; only one where a function leads to so many stalls.
_MOST_PATHS = 8
_MANY_STALLS = 200
_MOST_CONTEXTS = 6
_DEEPEST = 40


_DEFAULT_DEVICE = re.compile(
    r"set_default_device\((?!\s*[\"']cpu)|set_default_tensor_type\([^)]*cuda", re.IGNORECASE
)
# Parameters of a module's `forward` that are no tensors.
_NO_INPUT = re.compile(
    r"(?:args|batch_idx|cfg|config|deterministic|device|dim|dtype|epoch|i|key|kwargs|layer|mode|n|name|options|"
    r"state_dict|step|temperature|training|verbose|fn|envs?)$|(?:is|has|n|num|return|use)_|.*_(?:size|dim|fn|flag|name)$",
)


class Summary(NamedTuple):
    """What a call does: its result, whether the device is idle after it, and what stalls in it."""

    result: Kind
    fenced: bool
    stalls: tuple[tuple[Stall, bool], ...]


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
    """What all functions share while they are gone through.

    Attributes:
        fields: kinds of attributes, by class, as far as assignments tell.
        entered: functions that some other function was seen to call.
        hot: those of them that were called from inside a loop over environments or steps.
        heats: of loops, environments' left aside.
        cold: functions that a comment says are.
        followed: calls in such loops that were gone into.
        unfollowed: those that were not, with the reason.
    """

    def __init__(self, program: Program, rules: LoopRules, config: Config, tables: Tables) -> None:
        self.tables = tables
        self.program = program
        self.rules = rules
        self.on_device = any(_DEFAULT_DEVICE.search(module.text) for module in program.modules)
        self.heats: dict[ast.AST, Heat] = {}
        self.cold: set[ast.AST] = set()
        self.followed: set[ast.AST] = set()
        self.unfollowed: dict[ast.AST, str] = {}
        self.config = config
        self.reported = config.reported
        self.fields: dict[tuple[Class, str], Kind] = {}
        self.loops: dict[Loop, None] = {}
        self.findings: dict[tuple[Loop, Stall], bool] = {}
        self.truncated: dict[Place, None] = {}
        self.entered: set[Function] = set()
        self.hot: set[Function] = set()
        self.dirty = False
        self._asked: dict[tuple[Class, str], Kind] = {}
        self._memo: dict[tuple[object, ...], Summary] = {}
        self._contexts: dict[Function, int] = {}
        self._running: set[tuple[object, ...]] = set()
        self._globals: dict[tuple[Module, str], Kind] = {}
        self._nested: dict[ast.AST, Function] = {}
        self._places: dict[ast.AST, Place] = {}
        self._texts: dict[ast.AST, str] = {}
        self._initialised: set[Class] = set()
        self._depth = 0

    def forget(self) -> None:
        """Start over, but for what was learnt of attributes."""
        for learnt in (
            self.findings,
            self.truncated,
            self.unfollowed,
            self._memo,
            self._contexts,
            self._globals,
            self._asked,
        ):
            learnt.clear()
        self.entered.clear()
        self.followed.clear()
        self.hot.clear()
        self.dirty = False

    def enter(self, function: Function) -> None:
        """Go through a function whose callers are not known."""
        this = Kind("obj", (function.cls,)) if function.cls is not None else None
        frame = Frame(function.module, function, None)
        frame.uses = self._uses(function)
        self._bind(frame, function, this, (), {}, known=False)
        if function.node in self.cold:
            frame.hot = "once"
        self._keep_cold(function, self._run(frame, function).stalls)

    def _keep_cold(self, function: Function, stalls: tuple[tuple[Stall, bool], ...]) -> None:
        """Note what stalls outside of hot loops, if that is asked for."""
        if not stalls or "once" not in self.config.heat:
            return
        node = function.node
        place = self.place(function.module, node)
        start = Loop(place, f"def {function.name}", function.qualname, node.end_lineno or node.lineno, "once")
        for stall, rare in stalls:
            self.found(start, stall, rare)

    def enter_module(self, module: Module) -> None:
        """Go through the statements of a module outside of functions."""
        frame = Frame(module, None, None)
        self.run_block(frame, module.body)
        if "once" in self.config.heat:
            start = Loop(Place(module.path, 1, 1, 1, 1), module.name, "", len(module.text), "once")
            for stall, rare in frame.stalls.items():
                self.found(start, stall, rare)

    def evaluate(self, frame: Frame, node: ast.expr) -> Kind:
        """The kind of an expression; what stalls in it is reported."""
        return self.tables.expressions[type(node)](self, frame, node)

    def each(self, frame: Frame, nodes: Iterable[ast.expr]) -> tuple[Kind, ...]:
        """The kinds of several expressions, in order."""
        return tuple([self.evaluate(frame, node) for node in nodes])

    def run_block(self, frame: Frame, body: list[ast.stmt]) -> bool:
        """Go through statements; whether what follows them can run."""
        statements = self.tables.statements
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
        text = self.text(node)
        place = self.place(frame.module, node)
        self._charge(frame, (code, text, place, frame.qualname, ()), frame.rare)

    def _take_over(
        self, frame: Frame, node: ast.AST, function: Function, stalls: tuple[tuple[Stall, bool], ...]
    ) -> None:
        """Take over what stalls in a function that is called here."""
        if not stalls:
            return
        step = Step(self.place(frame.module, node), function.qualname)
        most = 1 if len(frame.stalls) + len(stalls) > _MANY_STALLS else _MOST_PATHS
        seen: dict[tuple[str, Place], int] = {}
        for (code, text, place, qualname, steps), rare in stalls:
            if step in steps or (frame.draining and code in _DRAINS):
                continue
            number = seen[code, place] = seen.get((code, place), 0) + 1
            if number > most:
                self.truncated[place] = None
                continue
            self._charge(frame, (code, text, place, qualname, (step, *steps)), rare or frame.rare)

    def _charge(self, frame: Frame, stall: Stall, rare: bool) -> None:
        """Charge a stall to the innermost hot loop, or leave it to the caller."""
        if frame.loops:
            self.found(frame.loops[-1], stall, rare)
        else:
            frame.stalls[stall] = rare and frame.stalls.get(stall, True)

    def found(self, loop: Loop, stall: Stall, rare: bool) -> None:
        """Note a stall in a loop; rare only if it is on every way."""
        self.findings[loop, stall] = rare and self.findings.get((loop, stall), True)

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
            self.unfollowed[node] = why

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
        self.entered.add(function)
        if hot in ("env", "step"):
            self.hot.add(function)
            self.followed.add(node)
        frame = Frame(function.module, function, outer, fenced=caller.fenced, hot=hot)
        frame.on_device = caller.on_device
        frame.quiet = caller.quiet
        frame.uses = self._uses(function)
        known = self._contexts.get(function, 0) < _MOST_CONTEXTS
        self._bind(frame, function, this, args, kwargs or {}, known=known)
        captured = None if outer is None else _captured(function, outer)
        key = (function, tuple(frame.env.values()), frame.fenced, hot, frame.on_device, frame.quiet, captured)
        summary = self._memo.get(key)
        if summary is None:
            if key in self._running or self._depth > _DEEPEST:
                self.not_followed(caller, node, "recursion")
                return self._declared(function)
            self._contexts[function] = self._contexts.get(function, 0) + 1
            self._running.add(key)
            self._depth += 1
            try:
                summary = self._memo[key] = self._run(frame, function)
            finally:
                self._running.discard(key)
                self._depth -= 1
        caller.fenced = summary.fenced
        if function.node in self.cold:
            self._keep_cold(function, summary.stalls)
        else:
            self._take_over(caller, node, function, summary.stalls)
        return summary.result

    @staticmethod
    def _uses(function: Function) -> Uses:
        if function.uses is None:
            function.uses = uses_of(function.node)
        return function.uses

    def function(self, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Function:
        """The function of a definition inside another one."""
        found = self._nested.get(node)
        if found is None:
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            around = frame.qualname
            qualname = f"{around}.{name}" if around else name
            names = () if isinstance(node, ast.Lambda) else decorators(node)
            found = self._nested[node] = Function(frame.module, qualname, node, None, names)
        return found

    def global_kind(self, module: Module, name: str) -> Kind:
        """The kind of a name at the level of a module."""
        key = module, name
        found = self._globals.get(key)
        if found is None:
            self._globals[key] = UNKNOWN
            found = self._globals[key] = self._global(module, name)
        return found

    def _global(self, module: Module, name: str) -> Kind:
        member = self.program.member(module, name)
        if member is None:
            return Kind("ext", f"builtins.{name}") if name in _BUILTINS else UNKNOWN
        return self.definition_kind(member)

    def definition_kind(self, member: object) -> Kind:
        """The kind of what a dotted name stands for."""
        if isinstance(member, Function):
            return Kind("fn", ((member, None, None),))
        if isinstance(member, Class):
            return Kind("cls", (member,))
        if isinstance(member, Module):
            return Kind("mod", member)
        if isinstance(member, str):
            return Kind("ext", member)
        assert isinstance(member, tuple)
        module, name = member
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
        return annotation_kind(node, module, self.program, cls)

    def field(self, cls: Class, name: str) -> Kind:
        """The kind of an attribute: as annotated, else as assigned where that was seen."""
        for item in self.program.mro(cls):
            if isinstance(item, Class):
                if name in item.fields:
                    kind = self.annotated(item.fields[name], item.module, item)
                    if not _vague(kind):
                        return kind
                if (item, name) in self.fields:
                    return self._ask(item, name)
                if name in item.values and name not in item.fields:
                    return self.evaluate(Frame(item.module, None, None), item.values[name])
        return self._ask(cls, name)

    def _ask(self, cls: Class, name: str) -> Kind:
        if cls not in self._initialised:
            self._initialised.add(cls)
            init = cls.methods.get("__init__")
            if init is not None:
                self.enter(init)
        kind = self.fields.get((cls, name), UNKNOWN)
        self._asked[cls, name] = kind
        return kind

    def set_field(self, cls: Class, name: str, kind: Kind) -> None:
        """Note an assignment to an attribute."""
        key = cls, name
        before = self.fields.get(key, BOTTOM)
        after = join(before, kind)
        if after != before:
            self.fields[key] = after
            if key in self._asked and self._asked[key] != after:
                self.dirty = True

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

    def _bind(
        self, frame: Frame, function: Function, this: Kind | None, args: tuple[Kind, ...],
        kwargs: Mapping[str, Kind], *, known: bool,
    ) -> None:  # fmt: skip
        """Bind the parameters: to what is passed, if that is known, else to what their annotations say."""
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        env = frame.env
        at = 0
        if function.cls is not None and "staticmethod" not in function.decorators and positional:
            first = positional.pop(0)
            env[first.arg] = this if this is not None else UNKNOWN
        defaults = len(positional) - len(spec.defaults)
        for index, parameter in enumerate(positional):
            passed = args[at] if at < len(args) else kwargs.get(parameter.arg)
            at += 1
            default = spec.defaults[index - defaults] if 0 <= index - defaults < len(spec.defaults) else None
            env[parameter.arg] = self._parameter(function, parameter, passed, default, known)
        for parameter, keyword in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            env[parameter.arg] = self._parameter(
                function, parameter, kwargs.get(parameter.arg), keyword, known
            )
        if spec.vararg is not None:
            rest = BOTTOM
            for kind in args[at:] if known else ():
                rest = join(rest, kind)
            stated = self.annotated(spec.vararg.annotation, function.module)
            env[spec.vararg.arg] = seq(stated if rest.tag == "bottom" else rest)
        if spec.kwarg is not None:
            names = {parameter.arg for parameter in (*positional, *spec.kwonlyargs)}
            rest = BOTTOM
            for name, kind in kwargs.items() if known else ():
                if name not in names:
                    rest = join(rest, kind)
            env[spec.kwarg.arg] = mapping(UNKNOWN if rest.tag == "bottom" else rest)

    def _parameter(
        self,
        function: Function,
        parameter: ast.arg,
        passed: Kind | None,
        default: ast.expr | None,
        known: bool,
    ) -> Kind:
        if passed is not None and known and not _vague(passed):
            return passed
        stated = self.annotated(parameter.annotation, function.module, function.cls)
        if stated.tag == "unknown":
            used = self._by_use(function, parameter.arg, default)
            if used is not None:
                return used
        if passed is not None or stated.tag != "unknown" or default is None:
            return stated
        if isinstance(default, ast.Constant) and parameter.arg not in self._uses(function).tensors:
            return UNKNOWN if default.value is None and not known else HOST
        return UNKNOWN

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
            if (not _vague(stated) and stated.tag not in ("tensor", "mask")) or (
                stated.tag == "tensor" and result.tag not in ("cpu", "mask")
            ):
                result = stated
            if result.tag == "bottom":
                result = UNKNOWN
        return Summary(result, frame.fenced, tuple(frame.stalls.items()))

    def _by_use(self, function: Function, name: str, default: ast.expr | None) -> Kind | None:
        """What a parameter is by how it is used, or because a module's ``forward`` gets it."""
        if name in self._uses(function).tensors:
            return TENSOR
        given = function.name == "forward" and function.cls is not None and default is None
        if not given or _NO_INPUT.match(name) or function.cls is None:
            return None
        return TENSOR if self.program.external_base(function.cls, "torch.nn.") else None

    def _declared(self, function: Function) -> Kind:
        """What a function says that it returns."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return UNKNOWN
        return self.annotated(node.returns, function.module, function.cls)


def _vague(kind: Kind) -> bool:
    """Whether a kind says nothing, or only that something is a container."""
    if kind.tag in ("seq", "map"):
        return _vague(kind.of)
    if kind.tag == "tup":
        return not kind.of or any(map(_vague, kind.of))
    return kind.tag in ("unknown", "bottom")


def _column(module: Module, line: int, utf8_column: int) -> int:
    """A column from 1 in characters, of one in bytes."""
    text = module.line(line)
    if text.isascii():
        return utf8_column + 1
    return len(text.encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "replace")) + 1


def _captured(function: Function, outer: Frame) -> tuple[object, ...]:
    """The kinds of what a function may capture, for telling one call of it from another."""
    if function.names is None:
        function.names = frozenset(node.id for node in ast.walk(function.node) if isinstance(node, ast.Name))
    found: list[object] = []
    frame: Frame | None = outer
    while frame is not None:
        found += [(name, kind) for name, kind in frame.env.items() if name in function.names]
        frame = frame.outer
    return tuple(found)
