"""The base with its helpers lifted as the head has them, and the head's calls of them in one form.

Which helpers may be lifted is decided by the rules of the lift itself, on the base. What is compared
afterwards are the functions that the lift makes: so a definition that is equal to one of them is the helper.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codemods.program.lifting import Analysis, Helper
from codemods.program.source import SourceError, decode_source, statements_in
from codemods.review.content import Content, Function
from codemods.review.match import Matching
from codemods.review.namespace import surroundings_of
from codemods.review.normal import normalised, written
from codemods.review.report import NotLifted
from codemods.review.shape import (
    Definition,
    parameters,
    regular_call,
    regular_definition,
    renamed,
    rewritten,
    with_captures,
    with_parameters,
    with_statement,
)
from codemods.review.side import Side
from codemods.review.units import Unit
from codemods.rewrites.refusals import Refusal

if TYPE_CHECKING:
    from codemods.rewrites.rules.decision import Decision

# Of how many of its statements a function of another name must share with a helper to be taken for it.
_LIKENESS = 0.6
_NUMBER = re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A helper of the base and the function of the head that it may have become."""

    helper: Helper
    outer: Unit
    head: Unit


class Lifts:
    """Helpers of the base that the head has as lifted functions.

    Both sides are changed: the base then has a lifted function for each such helper, in the head every call
    of one passes what was captured in one way. `pairs` are those functions; `refused` says what is not taken
    for a lift.
    """

    def __init__(self, base: Side, head: Side, matching: Matching) -> None:
        self._base, self._head, self._matching = base, head, matching
        self.pairs: list[tuple[Unit, Unit]] = []
        self.units: set[int] = set()
        # Of the head's lifted functions, by their units: the names in the base, and the captures.
        self.names: dict[int, str] = {}
        self.captures: dict[int, frozenset[str]] = {}
        self.refused: list[NotLifted] = []
        self._heads = {id(pair.base): pair.head for pair in matching.pairs}
        free = [*(pair.head for pair in matching.pairs if not pair.equal), *matching.new]
        self._free = [unit for unit in free if unit.kind == "function"]
        self._texts = _Texts()
        extras: dict[int, frozenset[str]] = {}
        for path, outers in self._outers().items():
            try:
                source = decode_source(base.tree.read(path), path)
                analysis = Analysis(source)
            except SourceError:
                continue
            found = self._candidates(analysis, outers)
            decision = self._decided(analysis, found)
            if decision.lifted:
                extras |= self._lift(path, analysis, decision, found)
        if extras:
            self._regular(extras)

    def _outers(self) -> dict[str, list[Unit]]:
        """Functions of the base that are not as they were, and hold one that the head may have lifted."""
        unequal = [pair.base for pair in self._matching.pairs if not pair.equal]
        found: dict[str, list[Unit]] = {}
        for unit in (*unequal, *self._matching.gone):
            if unit.kind not in ("function", "method"):
                continue
            left = self._left(unit)
            inside = [inner for inner in _functions_in(unit.original[0]) if inner.name not in left]
            if any(_alike(inner, function, self._texts) for inner in inside for function in self._free):
                found.setdefault(unit.path, []).append(unit)
        return found

    def _left(self, unit: Unit) -> set[str]:
        """Names of functions that stand in the head's function still."""
        head = self._heads.get(id(unit))
        return {inner.name for top in (head.original if head else ()) for inner in _functions_in(top)}

    def _candidates(self, analysis: Analysis, outers: list[Unit]) -> dict[Helper, _Candidate]:
        """Helpers with the functions of the head that are most like them."""
        likely: list[tuple[tuple[float, ...], int, _Candidate]] = []
        for unit in outers:
            left = self._left(unit)
            for helper in _inside(analysis, unit.original[0]):
                for function in self._free if helper.name not in left else ():
                    score = _likeness(helper, function, self._texts)
                    if score is not None:
                        likely.append((score, len(likely), _Candidate(helper, unit, function)))
        found: dict[Helper, _Candidate] = {}
        taken: set[int] = set()
        for _, _, candidate in sorted(likely, key=lambda item: (item[0], -item[1]), reverse=True):
            if candidate.helper not in found and id(candidate.head) not in taken:
                found[candidate.helper] = candidate
                taken.add(id(candidate.head))
        return found

    def _decided(self, analysis: Analysis, found: dict[Helper, _Candidate]) -> Decision:
        """Helpers that may be lifted, and that the head passes all that they need."""
        # Most changes lift nothing, and are done before the rules are loaded.
        from codemods.rewrites.rules.decision import decide

        module = {name for owner, name in analysis.tree.binders if owner is analysis.tree.module}
        refused: dict[Helper, Refusal] = {}
        for helper, candidate in found.items():
            reason = self._name_met(analysis, candidate)
            if reason:
                refused[helper] = Refusal("name-taken", candidate.head.original[0].lineno, reason, "")
        while True:
            foreign = {
                helper: frozenset(module & _added(candidate))
                for helper, candidate in found.items()
                if candidate.head.path != analysis.source.path
            }
            decision = decide(analysis, list(found), foreign, frozenset(), refused)
            more = {
                helper: Refusal("other-captures", helper.node.lineno, reason, "")
                for helper in decision.lifted
                if (reason := _other_parameters(found[helper], _needs(decision, helper)))
            }
            if not more:
                break
            refused |= more
        self.refused += [
            NotLifted(analysis.source.path, helper.qualname, refusal.line, refusal.code, refusal.reason)
            for helper, refusal in decision.refused.items()
        ]
        return decision

    def _name_met(self, analysis: Analysis, candidate: _Candidate) -> str:
        """Why the lifted function's name may mean something else to somebody."""
        from codemods.rewrites.rules.decision import FileNames, is_hook
        from codemods.rewrites.rules.definition import defined_alike

        head, path = candidate.head, analysis.source.path
        if is_hook(head.name):
            return f"{head.name} is a name that loaders of tests look for"
        around = surroundings_of(self._base.tree, analysis.source, path)
        for changed in defined_alike(around, analysis.tree, candidate.helper):
            return changed.reason
        if head.path == path:
            if around.look() is not None:
                return str(around.look())
            if not FileNames(analysis, around).free(head.name, candidate.helper):
                return f"{head.name} means something else in {path}, or in a file that knows it"
        elif head.path in self._base.tree.identities:
            try:
                source = decode_source(self._base.tree.read(head.path), head.path)
            except SourceError as error:
                return str(error)
            around = surroundings_of(self._base.tree, source, head.path)
            if around.look() is not None:
                return str(around.look())
            if around.taken(head.name):
                return f"{head.name} means something else in a file that knows {head.path}"
        return ""

    def _lift(
        self, path: str, analysis: Analysis, decision: Decision, found: Mapping[Helper, _Candidate]
    ) -> dict[int, frozenset[str]]:
        """Put what the lift makes in the base; the parameters that are captures, by the head's functions."""
        calls: dict[ast.AST, tuple[str, list[str]]] = {}
        for helper in decision.lifted:
            passed = sorted(_needs(decision, helper))
            for use in analysis.uses(helper):
                assert use.call is not None
                calls[use.call] = (_virtual(helper), passed)
        gone: set[ast.AST] = {helper.node for helper in decision.lifted}
        gone |= decision.lifting.declarations().keys()
        names = {_virtual(helper): found[helper].head.name for helper in decision.lifted}

        def named(tree: Definition) -> Definition:
            """As it is shown: by the names that the head has."""
            return renamed(tree, names)

        def passing(node: ast.AST, copy: ast.AST) -> ast.AST:
            if node not in calls:
                return copy
            assert isinstance(copy, ast.Call)
            return with_captures(copy, *calls[node])

        for unit in {id(found[h].outer): found[h].outer for h in decision.lifted}.values():
            [old] = unit.original
            new = rewritten(_same_place(analysis.source.tree, old), passing, gone)
            assert isinstance(new, Function)
            changed = replace(with_statement(unit, new), original=(named(new),))
            self._base.put(path, unit.qualname, changed)
            self.units.add(id(changed))
        extras: dict[int, frozenset[str]] = {}
        for helper in decision.lifted:
            needs = frozenset(_needs(decision, helper))
            body = rewritten(helper.node, passing, gone - {helper.node})
            assert isinstance(body, Function)
            body.name = _virtual(helper)
            with_parameters(body, needs)
            node = ast.fix_missing_locations(ast.Module([normalised(body)], []))
            unit = Unit(path, "function", helper.qualname, _content(node, body.name), (named(body),))
            self._base.put(path, body.name, unit)
            self.names[id(found[helper].head)] = body.name
            self.units.add(id(unit))
            extras[id(found[helper].head)] = needs
            self.pairs.append((unit, found[helper].head))
        return extras

    def _regular(self, extras: Mapping[int, frozenset[str]]) -> None:
        """Write the head's lifted functions and their calls in the form of the lift."""
        units = [(path, *item) for path, file in self._head.changed.items() for item in file.units.items()]
        calls = {id(unit): self._called(unit, extras) for _, _, unit in units}
        new: dict[int, Unit] = {}
        for path, name, unit in units:
            if calls[id(unit)] or id(unit) in extras:
                changed = _in_regular_form(unit, calls[id(unit)], extras.get(id(unit), frozenset()))
                new[id(unit)] = changed
                self._head.put(path, name, changed)
                self.units.add(id(changed))
        self.pairs = [(base, new[id(head)]) for base, head in self.pairs]
        self.names = {id(new[head]): name for head, name in self.names.items()}
        self.captures = {id(new[head]): names for head, names in extras.items()}

    def _called(
        self, unit: Unit, extras: Mapping[int, frozenset[str]]
    ) -> dict[str, tuple[list[str], frozenset[str]]]:
        """Names in a unit that mean lifted functions, with their parameters and captures."""
        found = {}
        names = (*unit.globals, *([unit.own] if unit.own in unit.content.free else []))
        for name in names:
            meaning = unit if name == unit.own else self._head.meaning(unit.path, name)
            if isinstance(meaning, Unit) and id(meaning) in extras:
                found[name] = (_positional(meaning), extras[id(meaning)])
        return found

    def called_as(self, unit: Unit, names: Mapping[str, Unit]) -> Unit:
        """A unit that calls lifted functions by other names, in the form of the lift."""
        called = {name: (_positional(meant), self.captures[id(meant)]) for name, meant in names.items()}
        return _in_regular_form(unit, called, frozenset()) if called else unit


def _positional(unit: Unit) -> list[str]:
    """The positional parameters of a function."""
    node = unit.original[0]
    assert isinstance(node, Function)
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]


def _in_regular_form(
    unit: Unit, called: Mapping[str, tuple[list[str], frozenset[str]]], own: frozenset[str]
) -> Unit:
    def passing(node: ast.AST, copy: ast.AST) -> ast.AST:
        if isinstance(copy, ast.Call) and isinstance(copy.func, ast.Name) and copy.func.id in called:
            positional, names = called[copy.func.id]
            return regular_call(copy, positional, names, unit)
        return copy

    originals = [rewritten(node, passing) for node in unit.original]
    if own:
        [definition] = originals
        assert isinstance(definition, Function)
        originals = [regular_definition(definition, own) or definition]
    if unit.kind in ("function", "method"):
        [definition] = originals
        assert isinstance(definition, Function)
        return with_statement(unit, definition)
    node = rewritten(unit.node, passing)
    assert isinstance(node, ast.Module)
    return unit.with_node(node, tuple(originals))


def _content(node: ast.Module, name: str) -> Content:
    return Content(lambda: node, "function", name)


def _virtual(helper: Helper) -> str:
    """A name that no program can have."""
    return f"<lifted>.{helper.qualname}:{helper.node.lineno}"


def _needs(decision: Decision, helper: Helper) -> list[str]:
    return [name for name, _ in decision.lifting.needs[helper]]


def _added(candidate: _Candidate) -> set[str]:
    """Parameters of the head's function that the helper does not have."""
    node = candidate.head.original[0]
    assert isinstance(node, Function)
    return set(parameters(node)) - set(parameters(candidate.helper.node))


def _other_parameters(candidate: _Candidate, needs: Iterable[str]) -> str:
    added = _added(candidate)
    if missing := sorted(set(needs) - added):
        return f"{candidate.head.name} is not passed {', '.join(missing)}"
    if more := sorted(added - set(needs)):
        return f"{candidate.head.name} has parameters that are no captures: {', '.join(more)}"
    node = candidate.head.original[0]
    assert isinstance(node, Function)
    if regular_definition(node, frozenset(needs)) is None:
        return f"a capture's parameter of {candidate.head.name} has a default"
    return ""


def _inside(analysis: Analysis, node: ast.stmt) -> Iterator[Helper]:
    """Helpers in a function, which is a node of another tree of the same text."""
    for helper in analysis.helpers:
        if any(
            isinstance(scope.node, Function)
            and (scope.node.lineno, scope.node.col_offset) == (node.lineno, node.col_offset)
            for scope in helper.outer.ancestors()
        ):
            yield helper


def _same_place(tree: ast.Module, node: ast.stmt) -> ast.stmt:
    found = (
        inner
        for inner in ast.walk(tree)
        if isinstance(inner, type(node))
        and (inner.lineno, inner.col_offset) == (node.lineno, node.col_offset)
    )
    return next(found)


class _Texts:
    """Statements of functions' bodies in their compared form, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[ast.AST, frozenset[str]] = {}

    def of(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
        if node not in self._known:
            self._known[node] = frozenset(map(written, node.body))
        return self._known[node]


def _functions_in(node: ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions at any depth of a statement, itself left out."""
    return (inner for inner in statements_in(node) if isinstance(inner, Function) and inner is not node)


def _alike(
    helper: ast.FunctionDef | ast.AsyncFunctionDef, function: Unit, texts: _Texts
) -> tuple[float, float] | None:
    """Which share of its statements a function has in common with a helper, and how much of its name; None
    if it is another one.
    """
    bare, name = helper.name.strip("_"), _NUMBER.sub("", function.name).strip("_")
    named = 2.0 if bare == name else 1.0 if name.endswith(f"_{bare}") or name.startswith(f"{bare}_") else 0.0
    node = function.original[0]
    assert isinstance(node, Function)
    before, after = texts.of(helper), texts.of(node)
    shared = len(before & after) / max(len(before), 1)
    return (shared, named) if named or shared >= _LIKENESS else None


def _likeness(helper: Helper, function: Unit, texts: _Texts) -> tuple[float, ...] | None:
    """How like a helper a function is; None if it is another one."""
    alike = _alike(helper.node, function, texts)
    if alike is None:
        return None
    node = function.original[0]
    assert isinstance(node, Function)
    given = set(parameters(node))
    passed = {*parameters(helper.node), *helper.captures} <= given
    return (float(passed), *alike, -float(len(given)))
