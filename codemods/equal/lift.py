"""Proof that nested functions became functions of modules: definitions, calls, and all that is left.

A caller claims which function became which; names of both versions decide whether that can be.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.equal.code import (
    FUNCTIONS,
    NewCall,
    NotProven,
    Place,
    alike,
    as_absolute,
    drop_statements,
    imported_otherwise,
    module_level,
    place_of,
    prove_closure,
    turn_back,
    unresolved,
)
from codemods.program.imports import bound_name
from codemods.program.scopes import FunctionNode, Scope, ScopeTree, Use
from codemods.program.source import Source


@dataclass(frozen=True, slots=True)
class Lifted:
    """A claim: the nested function at a place became a function of a module.

    ``passed`` are the parameters that it gained, ``names`` those by which it is called: in each other
    function that was lifted, by its place, and (None) in all that is left. Without a ``module`` it stands in
    the rest itself.
    """

    place: Place
    definition: str
    passed: tuple[str, ...]
    names: Mapping[Place | None, str]
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A new file that functions went to."""

    name: str
    source: Source


def prove_lift(
    old: ScopeTree,
    claims: Sequence[Lifted],
    rest: Source,
    modules: Sequence[Module],
    package: str | None,
) -> None:
    """Check new files against the original one. Their trees are used up.

    ``modules`` is empty where the lifted functions stand in the rest itself.

    Raises:
        NotProven: if anything differs but the lift.
    """
    proof = _Proof(old, claims, package)
    proof.names()
    for module in modules:
        if lost := sorted(unresolved(module.source)):
            raise NotProven(f"{module.name}: {', '.join(lost)} would not be bound")
        there = [each for each in claims if each.module == module.name]
        nodes = [nested.node for nested in proof.nested if nested.claim in there]
        if wrong := imported_otherwise(nodes, old.source, package, module.source, module.name):
            raise NotProven(f"{module.name}: {', '.join(wrong)} is imported from elsewhere")
        proof.definitions(module.source.tree, there)
    here = [each for each in claims if each.module is None]
    proof.definitions(rest.tree, here)
    definitions = {each.definition for each in here}
    drop_statements(rest.tree, lambda s: isinstance(s, FUNCTIONS) and s.name in definitions)
    proof.rest(rest, {module.name for module in modules})
    for nested in proof.nested:
        found, total = proof.calls[nested.claim.place], len(nested.calls)
        if found != total:
            raise NotProven(f"{nested.name}: {found} of {total} calls were rewritten", nested.claim.place)


class _Nested:
    """A function of the old version that a claim is about."""

    def __init__(self, tree: ScopeTree, claim: Lifted, node: FunctionNode) -> None:
        self.claim, self.node, self.scope = claim, node, tree.by_node[node]
        outer = self.scope.parent
        if outer is None or outer.kind != "function":
            raise NotProven(f"{node.name} is no nested function", claim.place)
        self.outer, self.name = outer, self.scope.name
        key = self.outer, self.name
        if len(tree.binders.get(key, ())) > 1:
            raise NotProven(f"{node.name} is bound more than once", claim.place)
        self.calls: list[Use] = tree.uses.get(key, [])
        self.owners = {name: tree.owner(self.scope, name) for name in claim.passed}
        for name, owner in self.owners.items():
            if owner.inside(self.scope):
                raise NotProven(f"{node.name}: {name} is its own", claim.place)

    @property
    def called(self) -> NewCall:
        """Its calls in the new version."""
        return NewCall(self.node.name, self.claim.place, self.claim.passed)


class _Proof:
    """The claims, and how many calls of each function were found in the new trees."""

    def __init__(self, tree: ScopeTree, claims: Sequence[Lifted], package: str | None) -> None:
        self.tree, self.package = tree, package
        self.calls: Counter[Place] = Counter()
        functions = {place_of(node): node for node in tree.by_node if isinstance(node, FUNCTIONS)}
        if missing := [claim.place for claim in claims if claim.place not in functions]:
            raise NotProven(f"line {missing[0][0]}: there is no function")
        self.nested = [_Nested(tree, claim, functions[claim.place]) for claim in claims]
        self._by_scope = {nested.scope: nested for nested in self.nested}

    def _around(self, scope: Scope) -> _Nested | None:
        """The innermost lifted function around a scope."""
        return next((self._by_scope[s] for s in scope.ancestors() if s in self._by_scope), None)

    def names(self) -> None:
        """Check that names at every call mean what they mean in the function: what is passed, what is called.

        Raises:
            NotProven: if one does not.
        """
        for nested in self.nested:
            for use in nested.calls:
                caller, place = self._around(use.scope), nested.claim.place
                called = nested.claim.names.get(caller.claim.place if caller is not None else None)
                if called is None:
                    raise NotProven(f"line {use.position[0]}: {nested.name} has no name here", place)
                owner = self.tree.owner(use.scope, called)
                if owner is not self.tree.module and (owner, called) != (nested.outer, nested.name):
                    raise NotProven(f"line {use.position[0]}: {called} means something else here", place)
                for name, owner in nested.owners.items():
                    self._means(nested, use, caller, name, owner)
            self._is_new(nested)

    def _means(self, nested: _Nested, use: Use, caller: _Nested | None, name: str, owner: Scope) -> None:
        """A captured name is the same variable at a call, and is at hand there."""
        line, place = use.position[0], nested.claim.place
        if self.tree.owner(use.scope, name) is not owner:
            raise NotProven(f"line {line}: {name} is another variable here", place)
        if caller is None or owner.inside(caller.scope):
            return
        travels = owner is not self.tree.module or caller.claim.module is not None
        if travels and name not in caller.claim.passed:
            raise NotProven(f"line {line}: {caller.name} does not get {name}", place)

    def _is_new(self, nested: _Nested) -> None:
        """The name by which what is left calls a function meant nothing in its module."""
        called, key = nested.claim.names.get(None), (nested.outer, nested.name)
        for owner, name in (*self.tree.uses, *self.tree.binders):
            if name == called and (owner, name) != key and owner is self.tree.module:
                raise NotProven(f"{called} is a name of the module already", nested.claim.place)

    def definitions(self, tree: ast.Module, claims: Sequence[Lifted]) -> None:
        """Check the definitions in one module."""
        found: dict[str, list[FunctionNode]] = {}
        top = set(tree.body)
        for node in module_level(tree) if claims else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(node.name, []).append(node)
        flags, chosen = self.tree.source.future_flags, {claim.place for claim in claims}
        bound = {claim.definition for claim in claims}
        bound |= {each.claim.names[at] for each in self.nested for at in chosen & each.claim.names.keys()}
        # A class body may read what it has not bound yet.
        read = {
            use.node: name
            for (owner, name), uses in self.tree.uses.items()
            if name in bound and (owner is self.tree.module or owner.kind == "class")
            for use in uses
        }
        for nested in (nested for nested in self.nested if nested.claim.place in chosen):
            claim = nested.claim
            if meant := {read[node] for node in (ast.walk(nested.node) if read else ()) if node in read}:
                raise NotProven(f"{', '.join(sorted(meant))} would be a lifted function", claim.place)
            made = found.get(claim.definition, [])
            made = [node for node in made if node in top] or made
            if len(made) != 1:
                raise NotProven(f"{claim.definition} is defined {len(made)} times", claim.place)
            calls = {
                callee.claim.names[claim.place]: callee.called
                for callee in self.nested
                if any(self._around(use.scope) is nested for use in callee.calls)
            }
            own = [name for name, owner in nested.owners.items() if owner is self.tree.module]
            captures = [name for name in nested.owners if name not in own]
            inside = {
                n.claim.place: n.name for n in self.nested if n is not nested and n.scope.inside(nested.scope)
            }
            self.calls.update(
                prove_closure(
                    nested.node, made[0], calls, captures, own, nested.scope.free, inside, flags, self.package
                )
            )

    def rest(self, rest: Source, modules: set[str]) -> None:
        """Check that what is left is the original without the functions, once calls are turned back."""
        places = {nested.claim.place for nested in self.nested}
        added = {(nested.claim.definition, nested.claim.names[None]) for nested in self.nested}
        calls = {nested.claim.names[None]: nested.called for nested in self.nested}
        self.calls.update(turn_back(rest.tree, calls))

        def told(block: list[ast.stmt]) -> list[ast.stmt]:
            return [as_absolute(s, self.package) for s in block if not isinstance(s, ast.Pass)]

        def before(block: list[ast.stmt]) -> list[ast.stmt]:
            return [s for s in told(block) if not (isinstance(s, FUNCTIONS) and place_of(s) in places)]

        def after(block: list[ast.stmt]) -> list[ast.stmt]:
            return [s for s in told(block) if not _only(s, modules, added)]

        old, new = before(self.tree.source.tree.body), after(rest.tree.body)
        if len(old) != len(new):
            raise NotProven("what is left has other statements than before")
        for one, other in zip(old, new, strict=True):
            if not alike(one, other, before, after):
                raise NotProven(f"line {one.lineno}: what is left of a statement differs")


def _only(statement: ast.stmt, modules: set[str], added: set[tuple[str, str]]) -> bool:
    """Tell whether a statement imports lifted functions from new modules, and nothing else."""
    match statement:
        case ast.ImportFrom(module=module, names=names) if module in modules:
            return all((alias.name, bound_name(alias)) in added for alias in names)
    return False
