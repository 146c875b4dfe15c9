"""The base with a function's loop in a class of its own, as the head has it.

The rules of the plans' `[loop]` decide on the base what the class must be given and what it hands back; the
class itself must hold what it is given and nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from codemods.program.lifting import Analysis
from codemods.program.loops import Parts
from codemods.program.nodes import DEFINITIONS
from codemods.program.scopes import Scope
from codemods.program.source import SourceError, parse_source
from codemods.review.content import Function
from codemods.review.match import Matching
from codemods.review.normal import normalised, written
from codemods.review.report import NotLifted
from codemods.review.shape import Definition, renamed, rewritten, with_statement
from codemods.review.side import Outside, Side
from codemods.review.units import Unit
from codemods.rewrites.refusals import Refusal

# What makes of an annotation more than a note about a field.
_SPECIAL = frozenset(["ClassVar", "InitVar", "KW_ONLY"])
# What a dataclass may be asked for that changes nothing about what its fields hold.
_OPTIONS = frozenset(["frozen", "slots", "kw_only", "eq", "repr"])
CalledAs = Callable[[Unit, Mapping[str, Unit]], Unit]
"""A unit that calls lifted functions by other names, in the form of the lift."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A statement of the head that makes an object of a class and runs its loop.

    ``above`` are the statements before it; ``to_end`` counts those of its function from it on.
    """

    above: tuple[ast.stmt, ...]
    to_end: int
    call: ast.Call
    target: Unit
    method: Unit
    returned: tuple[str, ...]
    returns: bool


@dataclass(frozen=True, slots=True)
class _Body:
    """The statements of such a method: what it imports and unpacks, the loop, what it hands back."""

    imported: ast.ImportFrom | None
    unpacked: Mapping[str, tuple[str, ...]]
    prologue: tuple[ast.stmt, ...]
    loop: ast.stmt
    epilogue: tuple[ast.stmt, ...]
    receiver: str


class _Other(Exception):
    """It is not of the form that is looked for."""


class Loops:
    """Classes of the head that run a loop of the base; changes the base's side as `Lifts` does."""

    def __init__(
        self, base: Side, head: Side, matching: Matching, lifted: Mapping[int, str], called_as: CalledAs
    ) -> None:
        """``lifted`` are the base's names of lifted functions, by the head's units."""
        self._base, self._head = base, head
        self.pairs: list[tuple[Unit, Unit]] = []
        self.holders: list[tuple[Unit, Unit]] = []
        self.units: set[int] = set()
        self.refused: list[NotLifted] = []
        new = {id(unit) for unit in matching.new}
        self._lifted, self._called_as = lifted, called_as
        for pair in matching.pairs:
            if not pair.equal and pair.base.kind == pair.head.kind == "function":
                for run in self._runs(pair.head, new):
                    self._take(pair.base, pair.head, run)
                    break

    def _runs(self, unit: Unit, new: set[int]) -> Iterator[_Run]:
        """Statements `C(x=x).run()`, `a, b = C(x=x).run()` and `return C(x=x).run()` for a new class C."""
        [definition] = unit.node.body
        assert isinstance(definition, Function)
        for index, statement in enumerate(definition.body):
            value, returned, returns = None, tuple[str, ...](), isinstance(statement, ast.Return)
            if isinstance(statement, ast.Expr | ast.Return):
                value = statement.value
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                value, returned = statement.value, _names(statement.targets[0])
            if (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Attribute)
                and not (value.args or value.keywords)
                and isinstance(value.func.value, ast.Call)
                and isinstance(value.func.value.func, ast.Name)
            ):
                target = self._head.meaning(unit.path, value.func.value.func.id)
                if isinstance(target, Unit) and target.kind == "class" and id(target) in new:
                    file = self._head.changed[target.path]
                    method = file.units.get(f"{target.qualname}.{value.func.attr}")
                    if method is not None:
                        above, to_end = tuple(definition.body[:index]), len(definition.body) - index
                        yield _Run(above, to_end, value.func.value, target, method, returned, returns)

    def _take(self, base: Unit, head: Unit, run: _Run) -> None:
        holders: dict[str, Unit] = {}
        try:
            given = self._given(head, run.call, holders)
            body = _body(run.method)
            if body.unpacked != given:
                raise _Other("what the class is given is not what its method takes from it")
            fetched = self._fetched(base, head, run, body.imported)
            handed = {name: self._head.meaning(head.path, name) for name in given}
            units = {
                name: unit
                for name, unit in handed.items()
                if isinstance(unit, Unit) and id(unit) in self._lifted
            }
            lifted = {name: self._lifted[id(unit)] for name, unit in units.items()}
            place, loop = self._decided(base, run, body, given, fetched, lifted)
        except _Other as other:
            line = run.target.original[0].lineno
            self.refused.append(
                NotLifted(run.target.path, run.target.qualname, line, "other-loop", str(other))
            )
            return
        run = replace(run, method=self._called_as(run.method, units))
        self._head.put(run.method.path, run.method.qualname, run.method)
        self._put(base, head, run, _body(run.method), place, loop, holders, lifted)

    def _given(self, unit: Unit, call: ast.Call, holders: dict[str, Unit]) -> dict[str, tuple[str, ...]]:
        """Variables that a call hands to a class that only holds them, each with the fields to go through."""
        assert isinstance(call.func, ast.Name)
        holder = self._head.meaning(unit.path, call.func.id)
        if not isinstance(holder, Unit) or holder.kind != "class" or call.args:
            raise _Other(f"{call.func.id} is no class of the change, or is given something by position")
        fields = self._fields(holder)
        if sorted(fields) != sorted(str(keyword.arg) for keyword in call.keywords):
            raise _Other(f"{holder.name} is not given each of its fields once")
        holders[call.func.id] = holder
        found: dict[str, tuple[str, ...]] = {}
        for keyword in call.keywords:
            field, value = str(keyword.arg), keyword.value
            if isinstance(value, ast.Name):
                more: dict[str, tuple[str, ...]] = {value.id: (field,)}
            elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                inner = self._given(unit, value, holders)
                more = {name: (field, *path) for name, path in inner.items()}
            else:
                raise _Other(f"{field} is not given a variable")
            if found.keys() & more.keys():
                raise _Other("a variable is given twice")
            found |= more
        return found

    def _fields(self, holder: Unit) -> list[str]:
        """The fields of a dataclass that does nothing but hold them."""
        [node] = holder.original
        assert isinstance(node, ast.ClassDef)
        decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
        calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
        options = [keyword for call in calls for keyword in call.keywords]
        typed: list[object] = getattr(node, "type_params", [])
        plain = all(k.arg in _OPTIONS and isinstance(k.value, ast.Constant) for k in options)
        plain = plain and not any(call.args for call in calls)
        if len(decorators) != 1 or not self._is_dataclass(holder, decorators[0]) or not plain:
            raise _Other(f"{holder.name} is no plain dataclass")
        if node.bases or node.keywords or typed:
            raise _Other(f"{holder.name} has bases")
        fields: list[str] = []
        for index, inner in enumerate(node.body):
            if (
                isinstance(inner, ast.AnnAssign)
                and isinstance(inner.target, ast.Name)
                and inner.value is None
            ):
                if not self._is_plain(holder, inner.annotation):
                    raise _Other(f"{inner.target.id} is no plain field")
                fields.append(inner.target.id)
            elif not (isinstance(inner, Function) or (index == 0 and ast.get_docstring(node) is not None)):
                raise _Other(f"{holder.name} holds more than fields")
        methods = [inner.name for inner in node.body if isinstance(inner, Function)]
        if len(methods) > 1 or any(name.startswith("__") for name in (*methods, *fields)):
            raise _Other(f"{holder.name} has other methods")
        if len(set(fields) | set(methods)) != len(fields) + len(methods):
            raise _Other(f"a name in {holder.name} is used twice")
        return fields

    def _is_plain(self, holder: Unit, annotation: ast.expr) -> bool:
        """Tell whether an annotation, or the text of one, tells a dataclass no more than that of a field."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value.strip(), mode="eval").body
            except SyntaxError:
                return False
        names = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(annotation)}
        meant = [self._head.meaning(holder.path, name) for name in names if name]
        words = names | {m.what[-1] for m in meant if isinstance(m, Outside)}
        quoted = any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(annotation))
        return not words & _SPECIAL and not quoted

    def _is_dataclass(self, unit: Unit, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            meaning = self._head.meaning(unit.path, node.value.id)
            return meaning == Outside(("module", "dataclasses")) and node.attr == "dataclass"
        if not isinstance(node, ast.Name):
            return False
        return self._head.meaning(unit.path, node.id) == Outside(("module", "dataclasses", "dataclass"))

    def _fetched(self, base: Unit, head: Unit, run: _Run, node: ast.ImportFrom | None) -> frozenset[str]:
        """Names that a method imports from the function's module, which is of one name on both sides."""
        if node is None:
            return frozenset()
        names = [alias.name for alias in node.names]
        if node.level or len(set(names)) < len(names) or any(alias.asname for alias in node.names):
            raise _Other("its import is relative, or gives other names")
        for side, path, own in ((self._base, base.path, base.path), (self._head, run.method.path, head.path)):
            where = side.source_of(path, node)
            if where is None or side.tree.module(where) != own:
                raise _Other(f"it imports from {node.module}, which is not the module of {head.qualname}")
            if _may_run(side.changed[own].tree, head.name):
                raise _Other(f"{node.module} may run {head.name} as a script, and would be loaded twice")
            if other := [name for name in names if _may_change(side, own, name)]:
                raise _Other(f"{', '.join(other)} may be bound again")
        return frozenset(names)

    def _decided(
        self,
        base: Unit,
        run: _Run,
        body: _Body,
        given: Mapping[str, tuple[str, ...]],
        fetched: frozenset[str],
        lifted: Mapping[str, str],
    ) -> tuple[int, ast.stmt]:
        """Where the loop stands in the base, if what is handed in and back is what it needs.

        ``lifted`` functions that are handed in have names of their own in the base.
        """
        # Most changes hold no such class, and are done before the rules are loaded.
        from codemods.rewrites.loop.rules import decide_loop

        [definition] = base.node.body
        assert isinstance(definition, Function)
        places = [i for i, s in enumerate(definition.body) if _head_of(s) == _head_of(body.loop)]
        if len(places) > 1:
            places = [place for place in places if len(definition.body) - place == run.to_end]
        if len(places) != 1:
            raise _Other(f"its loop is not one of {base.qualname} alone")
        [place] = places
        first = _none_first(definition, run)
        analysis, scope, names = self._as_text(base, _with_body(definition, [*first, *definition.body]))
        node = scope.node
        assert isinstance(node, Function)
        parts = Parts(analysis, scope, node, node.body[place + len(first)])
        if met := sorted(lifted.keys() & {*parts.names, *parts.globals}):
            raise _Other(f"{', '.join(met)} means something else in the loop")
        given = {names.get(lifted.get(name, ""), name): path for name, path in given.items()}
        module = {name for owner, name in analysis.tree.binders if owner is analysis.tree.module}
        handed = (fetched | given.keys()) & module
        decision = decide_loop(parts, frozenset(), handed, in_package=body.imported is not None)
        if isinstance(decision, Refusal):
            raise _Other(decision.reason)
        if other := sorted(fetched - set(decision.fetched)):
            raise _Other(f"{', '.join(other)} can't be imported when the loop begins")
        missing = set(decision.variables) - given.keys()
        more = given.keys() - set(decision.fields)
        if missing or more:
            told = [
                *(f"{n} is not handed in" for n in sorted(missing)),
                *(f"{n} is no need" for n in sorted(more)),
            ]
            raise _Other(", ".join(told))
        if body.receiver in parts.names or body.receiver in parts.globals:
            raise _Other(f"{body.receiver} means something in the loop")
        back = tuple(_names(body.epilogue[0].value)) if body.epilogue else ()  # type: ignore[attr-defined]
        if set(decision.returned) != set(run.returned) or back != run.returned or len(set(back)) != len(back):
            raise _Other("what is read after the loop is not what is handed back")
        if decision.returns != run.returns:
            raise _Other("a return in the loop and the call in its place do not agree")
        return place, definition.body[place]

    def _as_text(self, base: Unit, definition: Definition) -> tuple[Analysis, Scope, dict[str, str]]:
        """The base's module with the function as it is now, read afresh; names that stand for others."""
        names: dict[str, str] = {}

        def valid(_: ast.AST, copy: ast.AST) -> ast.AST:
            if isinstance(copy, ast.Name) and not copy.id.isidentifier():
                copy.id = names.setdefault(copy.id, f"lifted_in_review_{len(names)}")
            return copy

        tree = self._base.changed[base.path].tree
        function: ast.stmt = rewritten(definition, valid)
        whole = self._base.changed[base.path].binders[base.qualname][0]
        place = tree.body.index(whole)
        futures = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        brought = [ast.ImportFrom("lifted_in_review", [ast.alias(name)], 0) for name in names.values()]
        others = [*tree.body[:place], function, *tree.body[place + 1 :]]
        others = [statement for statement in others if statement not in futures]
        text = ast.unparse(ast.fix_missing_locations(ast.Module([*futures, *brought, *others], [])))
        try:
            analysis = Analysis(parse_source(text, base.path))
        except SourceError as error:
            raise _Other(str(error)) from None
        found = [s for s in analysis.tree.scopes() if s.kind == "function" and s.qualname == base.qualname]
        if len(found) != 1:
            raise _Other(f"there are {len(found)} functions {base.qualname}")
        return analysis, found[0], names

    def _put(
        self,
        base: Unit,
        head: Unit,
        run: _Run,
        body: _Body,
        place: int,
        loop: ast.stmt,
        holders: Mapping[str, Unit],
        lifted: Mapping[str, str],
    ) -> None:
        """Put the call in the loop's place, and the loop in the class."""
        here = {**lifted, **{name: _virtual(name) for name in holders}}
        inside = {virtual: name for name, virtual in lifted.items()}
        for name, holder in holders.items():
            held = replace(holder, path=base.path)
            self._base.put(base.path, _virtual(name), held)
            self.holders.append((held, holder))
            self.units |= {id(held), id(holder)}

        [after], [plain], [shown] = head.node.body, base.node.body, base.original
        assert isinstance(after, Function)
        assert isinstance(plain, Function)
        assert isinstance(shown, Function)
        call = after.body[len(run.above)]
        own = shown.body[place + (ast.get_docstring(shown, clean=False) is not None)]
        made = _with_body(plain, [*plain.body[:place], renamed(call, here), *plain.body[place + 1 :]])
        text = _with_body(shown, [call if statement is own else statement for statement in shown.body])
        changed = replace(with_statement(base, made), original=(text,))
        self._base.put(base.path, base.qualname, changed)
        [method] = run.method.original
        assert isinstance(method, Function)
        inner = _with_body(method, [*body.prologue, renamed(loop, inside), *body.epilogue])
        inner.lineno, inner.end_lineno = own.lineno, own.end_lineno
        moved = with_statement(replace(run.method, path=base.path, qualname=f"{base.qualname} (loop)"), inner)
        moved = replace(moved, original=(_with_body(inner, [*body.prologue, own, *body.epilogue]),))
        self._base.put(base.path, f"{_virtual(run.target.name)}.{method.name}", moved)
        self.units |= {id(changed), id(moved)}
        self.pairs.append((moved, run.method))


def _body(method: Unit) -> _Body:
    """A method's statements, if they import, unpack fields of `self`, run one loop and hand back variables.

    Raises:
        _Other: if they do anything else.
    """
    [shell] = method.node.body
    assert isinstance(shell, ast.ClassDef)
    [definition] = shell.body
    if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
        raise _Other(f"{method.qualname} is no plain method")
    arguments = definition.args
    every = (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    )
    names = [argument.arg for argument in every if argument is not None]
    if len(names) != 1 or not arguments.args:
        raise _Other(f"{method.qualname} has parameters")
    unpacked: dict[str, tuple[str, ...]] = {}
    start = definition.body[0]
    imported = start if isinstance(start, ast.ImportFrom) else None
    at = int(imported is not None)
    for statement in definition.body[at:]:
        path = _unpacking(statement, names[0])
        if path is None:
            break
        name, fields = path
        if name in unpacked:
            raise _Other(f"{name} is unpacked twice")
        unpacked[name] = fields
        at += 1
    rest = definition.body[at:]
    if not rest or len(rest) > 2 or (len(rest) == 2 and not _is_return(rest[1])):
        raise _Other(f"{method.qualname} does more than its loop")
    return _Body(imported, unpacked, tuple(definition.body[:at]), rest[0], tuple(rest[1:]), names[0])


def _none_first(definition: Definition, run: _Run) -> list[ast.stmt]:
    """List statements ``x = None`` above the call that the base does not have: all else is as if it had."""
    had = [ast.dump(statement) for statement in definition.body]
    return [s for s in run.above if _is_none(s) and ast.dump(s) not in had]


def _is_none(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign([ast.Name()], ast.Constant(None)):
            return True
    return False


def _may_change(side: Side, path: str, name: str) -> bool:
    """May a name of a module be bound again while a loop runs?"""
    again = side.is_rebound(path, name) or side.is_bound_by_text(path, name)
    return again or side.comes_twice(path, name) or (path, name) in side.replacements


def _may_run(tree: ast.Module, name: str) -> bool:
    """May loading a module run its function of that name? Whatever names what leads to it may."""
    definitions = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    words = {node.name: _names_in([node]) for node in definitions}
    leading, known = {name}, 0
    while known < len(leading):
        known = len(leading)
        leading |= {other for other, inside in words.items() if inside & leading}
    run = [node for node in tree.body if not isinstance(node, DEFINITIONS)]
    decorated = any(node.decorator_list and node.name in leading for node in definitions)
    return decorated or bool(_names_in([*run, *_made_at_once(definitions)]) & leading)


def _made_at_once(definitions: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes that run when functions and classes are made."""
    for node in definitions:
        if isinstance(node, Function):
            yield from (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults))
        elif isinstance(node, ast.ClassDef):
            yield from (*node.decorator_list, *node.bases, *node.keywords)
            yield from (inner for inner in node.body if not isinstance(inner, DEFINITIONS))
            yield from _made_at_once(inner for inner in node.body if isinstance(inner, DEFINITIONS))


def _names_in(nodes: Iterable[ast.AST]) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _unpacking(statement: ast.stmt, receiver: str) -> tuple[str, tuple[str, ...]] | None:
    """The variable and the fields of `x = self.x`, `x = self.group.x`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    [target], node = statement.targets, statement.value
    fields: list[str] = []
    while isinstance(node, ast.Attribute):
        fields.append(node.attr)
        node = node.value
    if (
        not isinstance(target, ast.Name)
        or not isinstance(node, ast.Name)
        or node.id != receiver
        or not fields
    ):
        return None
    return target.id, tuple(reversed(fields))


def _is_return(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Return)
        and statement.value is not None
        and "" not in _names(statement.value)
    )


def _names(node: ast.expr | None) -> tuple[str, ...]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return tuple(part.id if isinstance(part, ast.Name) else "" for part in parts)


def _head_of(statement: ast.stmt) -> str:
    return written(normalised(statement, blocks=False))


def _virtual(name: str) -> str:
    """A name that no program can have."""
    return f"<loop>.{name}"


def _with_body(node: Definition, body: list[ast.stmt]) -> Definition:
    made = rewritten(node, lambda _, copy: copy)
    made.body = body
    return made
