"""Which loops train: told by what runs in them, by what they go through, and by comments.

A loop whose body works (a backward pass, an optimizer's or an environment's ``step``), itself or in
functions that it calls, runs once per step. One that only has such loops in it runs once per epoch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from codemods.hotpath.loops import LoopRules, runs_once
from codemods.hotpath.modules import Class, Function, Module
from codemods.hotpath.places import Places
from codemods.hotpath.program import Program
from codemods.hotpath.results import Heat
from codemods.hotpath.tree import children, inside
from codemods.hotpath.vocabulary import MODULE_NAMES

LoopNode = ast.For | ast.AsyncFor | ast.While | ast.comprehension
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEVELS = 5
_MOST_METHODS = 3
_MOST_CALLERS = 40
_PLAIN_METHODS = frozenset({"update", "run", "train", "step", "fit", "add", "close", "reset", "save", "load"})

# Environments that are wrapped take steps in these, too: once per episode.
_RARE = frozenset({"close", "reset", "seed"})
_BACKWARD = frozenset({"backward", "manual_backward"})
_STEPPED = re.compile(r"opt|scaler|env|gym|game|simul|sgd|adam", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"(?:^|_)(?:vec)?(?:env|game|sim)s?(?:_|$)", re.IGNORECASE)
_REWARDED = re.compile(r"(?:reward|done|terminated)s?$")
_NOT_STEPPED = re.compile(r"sched|prof|lr_|pbar|bar$", re.IGNORECASE)
# Each begins with what is searched for fast; a place too many is looked at in vain, no more.
_EVIDENCE = tuple(
    map(
        re.compile,
        (
            r"\.\s*(?:manual_)?(?:backward|step)\s*\(",
            r"autograd\.grad\s*\(",
            *(rf"{word}s?\b[\w, ]*= " for word in ("done", "reward", "terminated")),
        ),
    )
)
_WORDS = tuple(
    map(
        re.compile,
        (
            r"\b(?:for|while)\b[^\n]*|\bnext\([^\n]*",
            *(rf"= {name}\([^\n]*" for name in ("enumerate", "iter", "tqdm", "tqdm.tqdm", "TQDM")),
        ),
    )
)
_WORKS = re.compile(
    r"^self |model|net|policy|actor|critic|agent|loss|logits|env|optim|generat|sample|forward|encoder|decoder"
    r"|module"
)


@dataclass(slots=True, eq=False)
class _Loop:
    """A loop of a function, or a function inside it: whether its own body works, and what it has in it.

    Attributes:
        node: of the loop; None for a function.
        outer: index of the loop around it; -1: none.
        named: its names say that it goes through batches or steps.
        works: something in it, other loops aside, trains or steps.
        busy: there is a loop in it that does.
        takes: it has no end of its own, and takes the next batch of an iterator itself.
        env: it is over environments, or left in its first round, so a part of what is around it.
        gives: what it goes through gives batches.
    """

    node: LoopNode | None
    outer: int
    named: bool
    works: bool = False
    busy: bool = False
    takes: bool = False
    env: bool = False
    gives: bool = False


@dataclass(slots=True, eq=False)
class _Scan:
    """Loops of one function, and calls by name with the innermost loop around each.

    Attributes:
        local: calls of functions inside it: index of the function among the loops, and of the loop around.
    """

    loops: list[_Loop] = field(default_factory=list)
    local: list[tuple[int, int]] = field(default_factory=list)
    calls: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    works: bool = False
    busy: bool = False


class Heats:
    """The heat of every loop that has some, environments left aside.

    Attributes:
        found: by the loop's node.
        places: the functions and modules that such loops are in.
        cold: functions that a comment says are cold.
        heeded: paths and lines of loops and functions where a comment was.
    """

    def __init__(
        self, program: Program, rules: LoopRules, places: Places, marks: dict[str, dict[int, str]]
    ) -> None:
        self.found: dict[ast.AST, Heat] = {}
        self.places: dict[Function | Module, None] = {}
        self.cold: set[ast.AST] = set()
        self.heeded: set[tuple[str, int]] = set()
        self._program = program
        self._rules = rules
        self._places = places
        self._marks = marks
        self._scans: dict[Function | Module, _Scan] = {}
        self._find()

    def _find_cold(self) -> None:
        for module in self._program.modules:
            marked = self._marks.get(module.path)
            for function in module.all_functions() if marked else ():
                first = min([function.node.lineno, *(d.lineno for d in _decorators(function.node))])
                for line in range(first, function.node.lineno + 1):
                    if marked and marked.get(line) == "cold":
                        self.cold.add(function.node)
                        self.heeded.add((module.path, line))

    def _find(self) -> None:
        self._find_cold()
        waiting: dict[Function | Module, None] = {}
        for module in self._program.modules:
            if module.is_test:
                continue
            for place in self._candidates(module):
                self._scan(place)
                waiting[place] = None
        for _ in range(_LEVELS):
            further: dict[Function | Module, None] = {}
            for place in waiting:
                scan = self._scans[place]
                if isinstance(place, Function) and (scan.works or scan.busy) and place.name not in _RARE:
                    for caller in self._callers(place):
                        if not self._module(caller).is_test and self._charge(caller, place, scan):
                            further[caller] = None
            if not further:
                break
            waiting = further
        for place, scan in self._scans.items():
            self._settle(place, scan)

    def _callers(self, function: Function) -> list[Function | Module]:
        """List callers of a function; a method's also by its name, in its class's family alone where many
        do.
        """
        found = self._places.callers(function, most=_MOST_CALLERS)
        cls = function.cls
        if cls is None or function.name.startswith("__"):
            return found
        named = [place for place in self._places.naming(function.name) if place is not function]
        if len(named) > _MOST_CALLERS:
            named = [
                place
                for place in named
                if isinstance(place, Function) and place.cls and _related(self._program, cls, place.cls)
            ]
        return list(dict.fromkeys((*found, *named)))

    @staticmethod
    def _module(place: Function | Module) -> Module:
        return place if isinstance(place, Module) else place.module

    def _candidates(self, module: Module) -> Iterator[Function | Module]:
        """Functions whose text says that a loop in them may be hot, or that they work."""
        text = module.text
        seen: dict[Function | Module, None] = {}
        for match in _matches(_EVIDENCE, text):
            seen[self._places.at(module, match.start())] = None
        torch = "torch" in text
        marked = self._marks.get(module.path, {})
        if torch:
            for match in _matches(_WORDS, text):
                if self._rules.steps_in(match[0]):
                    seen[self._places.at(module, match.start())] = None
        for line in marked:
            seen[self._places.on_line(module, line)] = None
        yield from seen

    def _scan(self, place: Function | Module) -> _Scan:
        found = self._scans.get(place)
        if found is None:
            found = self._scans[place] = _Scan()
            module = self._module(place)
            _Walk(found, self._rules, "torch" in module.text).body(
                place.body if isinstance(place, Module) else _body(place.node), -1
            )
            _climb(found)
        return found

    def _charge(self, caller: Function | Module, callee: Function, scan: _Scan) -> bool:
        """Let a caller know what a function that it calls does; whether that is new to it."""
        into = self._scan(caller)
        name = callee.name
        if callee.name in ("__init__", "forward", "__call__") and callee.cls is not None:
            name = callee.cls.name.rpartition(".")[2]
        changed = False
        for receiver, at in into.calls.get(name, ()):
            if not self._meant(caller, receiver, callee):
                continue
            for attribute in ("works", "busy"):
                if getattr(scan, attribute):
                    holder = _holder(into, at)
                    if not getattr(holder, attribute):
                        setattr(holder, attribute, True)
                        changed = True
        if changed:
            _climb(into)
        return changed

    def _meant(self, caller: Function | Module, receiver: str, callee: Function) -> bool:
        """Tell whether a call of a function's name is likely one of it."""
        if callee.cls is None:
            return True
        if not receiver:
            return callee.name in ("__init__", "forward", "__call__")
        if receiver in ("self", "cls"):
            cls = caller.cls if isinstance(caller, Function) else None
            return cls is not None and _related(self._program, cls, callee.cls)
        name = callee.cls.name.rpartition(".")[2].lower()
        plain = receiver.lower().strip("_")
        if plain in name or name in plain:
            return True
        made = rf"\b{re.escape(receiver)}\s*=[^=\n]*\b{re.escape(callee.cls.name)}\("
        if re.search(made, caller.text):
            return True
        owners = self._program.methods_named(callee.name)
        return len(owners) <= _MOST_METHODS and callee.name not in _PLAIN_METHODS

    def _settle(self, place: Function | Module, scan: _Scan) -> None:
        module = self._module(place)
        marks = self._marks.get(module.path, {})
        for loop in scan.loops:
            if loop.node is None:
                continue
            first = loop.node.target if isinstance(loop.node, ast.comprehension) else loop.node
            mark = marks.get(first.lineno)
            if mark is not None:
                self.heeded.add((module.path, first.lineno))
            heat: Heat | None = None
            if mark == "cold":
                heat = "once"
            elif loop.env:
                heat = None
            elif loop.works or (loop.takes and loop.busy) or mark == "loop":
                heat = "step"
            elif loop.named and loop.gives:
                heat = "step"  # batches, whatever loops they are worked through in
            elif loop.busy:
                heat = "epoch"
            elif loop.named:
                heat = "step"
            if heat == "epoch" and self.found.get(loop.node) == "step":
                continue  # a module's own look at its functions knows less of what they call
            if heat is not None:
                self.found[loop.node] = heat
                self.places[place] = None


def _matches(patterns: Iterable[re.Pattern[str]], text: str) -> Iterator[re.Match[str]]:
    for pattern in patterns:
        yield from pattern.finditer(text)


def _related(program: Program, cls: Class, other: Class) -> bool:
    return other in program.mro(cls) or cls in program.mro(other)


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _body(node: ast.AST) -> list[ast.stmt]:
    body = getattr(node, "body", [])
    return body if isinstance(body, list) else []


class _Walk:
    """Fills a scan from the statements of a function."""

    def __init__(self, scan: _Scan, rules: LoopRules, torch: bool) -> None:
        self.scan = scan
        self.rules = rules
        self.torch = torch
        self.local: dict[str, int] = {}
        self.feeds: set[str] = set()

    def body(self, statements: Iterable[ast.AST], at: int) -> None:
        for statement in statements:
            self.node(statement, at)

    def node(self, node: ast.AST, at: int) -> None:
        if isinstance(node, (ast.For, ast.AsyncFor)):
            self.node(node.iter, at)
            inner = self.enter(node, at)
            self.body(node.body, inner)
            self.body(node.orelse, at)
            return
        if isinstance(node, ast.While):
            inner = self.enter(node, at)
            self.node(node.test, inner)
            self.body(node.body, inner)
            self.body(node.orelse, at)
            return
        if isinstance(node, _FUNCTIONS):
            self.nested(node)
            return
        if isinstance(node, (ast.Lambda, ast.ClassDef)):
            return
        if isinstance(node, ast.Call):
            self.call(node, at)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            self.comprehension(node, at)
            return
        elif isinstance(node, ast.Assign):
            self.assigned(node)
            if _is_env_step(node):
                self.work(at)
        for child in children(node):
            self.node(child, at)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, at: int
    ) -> None:
        for generator in node.generators:
            self.node(generator.iter, at)
            if self.torch and self.rules.loads(generator.iter, self.feeds):
                at = self.enter(generator, at)
            for test in generator.ifs:
                self.node(test, at)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.node(part, at)

    def enter(self, node: LoopNode, at: int) -> int:
        """Note a loop, and give its index; environments' loops are a part of what is around them.

        So is what is left in its first round.
        """
        over_envs = isinstance(node, (ast.For, ast.AsyncFor)) and self.rules.over_envs(node.target, node.iter)
        if over_envs or runs_once(node):
            self.scan.loops.append(_Loop(node, at, False, env=True))
            return at
        found = _Loop(node, at, self.named(node))
        found.gives = not isinstance(node, ast.While) and self.gives(node.iter)
        self.scan.loops.append(found)
        return len(self.scan.loops) - 1

    def named(self, node: LoopNode) -> bool:
        """Tell whether names say that a loop goes through batches or steps."""
        if not self.torch:
            return False
        if isinstance(node, ast.While):
            return self.rules.while_steps(node.test) and _works(node)
        if self.rules.loads(node.iter, self.feeds):
            return True
        named = self.rules.over_steps(node.target, node.iter) or self.rules.fed(node.iter, self.feeds)
        return named and _works(node)

    def gives(self, iterable: ast.expr) -> bool:
        """Tell whether what a loop goes through gives batches, by its name or by what it was made of."""
        return self.rules.loads(iterable, self.feeds) or self.rules.fed(iterable, self.feeds)

    def assigned(self, node: ast.Assign) -> None:
        """Note names for what gives batches: ``bar = tqdm(loader)``."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                fed = self.rules.same_batches(node.value, self.feeds)
                (self.feeds.add if fed else self.feeds.discard)(target.id)

    def nested(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function inside the function: its loops are looked at here; calls of it work if it does."""
        self.scan.loops.append(_Loop(None, -1, False))
        at = self.local[node.name] = len(self.scan.loops) - 1
        self.body(node.body, at)

    def call(self, node: ast.Call, at: int) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            if function.id == "next" and at >= 0 and _is_iterator(node):
                loop = self.scan.loops[at]
                if isinstance(loop.node, ast.While):
                    loop.takes = True
                    loop.named = loop.named or (
                        self.torch and self.rules.loads(node.args[0]) and _works(loop.node)
                    )
            if function.id in self.local:
                self.scan.local.append((self.local[function.id], at))
            self.scan.calls.setdefault(function.id, []).append(("", at))
        elif isinstance(function, ast.Attribute):
            receiver = _last(function.value)
            self.scan.calls.setdefault(function.attr, []).append((receiver, at))
            if (
                function.attr in _BACKWARD
                or (function.attr == "grad" and receiver == "autograd")
                or (
                    function.attr == "step"
                    and _STEPPED.search(receiver)
                    and not _NOT_STEPPED.search(receiver)
                )
            ):
                self.work(at)

    def work(self, at: int) -> None:
        _holder(self.scan, at).works = True


def _holder(scan: _Scan, at: int) -> _Scan | _Loop:
    return scan if at < 0 else scan.loops[at]


def _climb(scan: _Scan) -> None:
    """Tell outer loops, and the function, what is in their loops and in the functions inside."""
    for _ in range(2):
        for loop in reversed(scan.loops):
            if loop.node is not None and (loop.works or loop.named or loop.busy):
                _holder(scan, loop.outer).busy = True
        for inner, at in scan.local:
            holder = _holder(scan, at)
            holder.works = holder.works or scan.loops[inner].works
            holder.busy = holder.busy or scan.loops[inner].busy


def _last(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def _is_iterator(node: ast.Call) -> bool:
    """``next(batches)``, and not ``next(iter(loader))``, which begins anew."""
    return bool(node.args) and isinstance(node.args[0], (ast.Name, ast.Attribute, ast.Subscript))


def _is_env_step(node: ast.Assign) -> bool:
    """``obs, reward, done, info = x.step(action)``, or ``obs, reward = env.act(action)``."""
    value, target = node.value, node.targets[0]
    if not (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and isinstance(target, ast.Tuple)
    ):
        return False
    if value.func.attr == "step" and len(target.elts) in (4, 5):
        return True
    told = any(_REWARDED.match(_last(part)) for part in target.elts)
    return told and bool(value.args) and _ENVIRONMENT.search(_last(value.func.value)) is not None


def _works(node: LoopNode) -> bool:
    """Tell whether something in a loop's body is called as what trains is, or gets a model."""
    return any(
        isinstance(part, ast.Call)
        and (
            _WORKS.search((_last(part.func) + " " + _receiver(part)).lower())
            or any(_last(argument) in MODULE_NAMES for argument in part.args)
        )
        for statement in getattr(node, "body", ())
        for part in inside(statement)
    )


def _receiver(node: ast.Call) -> str:
    return _last(node.func.value) if isinstance(node.func, ast.Attribute) else ""
