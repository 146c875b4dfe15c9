"""The helpers of a file and what they capture; which can be lifted together, and what each is passed.

Candidates start as liftable; every rule may refuse one, and since a refused helper becomes an ordinary
captured value of those that call it, this repeats until nothing changes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from codemods.program.flow import Flow
from codemods.program.graph import Graph
from codemods.program.scopes import FunctionNode, Scope, ScopeTree, Use, is_generator
from codemods.program.source import Source
from codemods.program.walk import read_scopes

Need = tuple[str, Scope]


@dataclass(eq=False, slots=True)
class Helper:
    """A function defined inside another function.

    ``reads`` are its captures' uses in the order of the text. ``entry`` is set for a function that only a
    residual calls: captures that it reads before anything else can run, each with whether an unbound one
    fails there in the same way.
    """

    name: str
    node: FunctionNode
    scope: Scope
    outer: Scope
    reads: list[tuple[str, Scope, Use]]
    lazy: bool
    entry: Mapping[str, bool] | None = None

    @property
    def qualname(self) -> str:
        """Names of the scopes around it and its own, joined by dots."""
        return self.scope.qualname

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of its definition."""
        return self.node.lineno, self.node.col_offset

    @property
    def captures(self) -> tuple[str, ...]:
        """Names it reads from enclosing functions, in the order in which it first reads them."""
        return tuple(dict.fromkeys(name for name, _, _ in self.reads))

    @property
    def outermost(self) -> Scope:
        """The outermost function around it."""
        return [scope for scope in self.scope.ancestors() if scope.kind == "function"][-1]

    @property
    def root(self) -> Scope:
        """The module-level function or class that it lies in."""
        return next(s for s in self.scope.ancestors() if s.parent is not None and s.parent.kind == "module")

    @property
    def top(self) -> ast.stmt:
        """The statement that makes it."""
        assert isinstance(self.root.node, ast.stmt)
        return self.root.node


def find_helpers(tree: ScopeTree) -> list[Helper]:
    """All functions that are defined directly inside another function, in the order of the text."""
    free_uses = _free_uses(tree)
    found = []
    for scope in tree.scopes():
        node, outer = scope.node, scope.parent
        if outer is not None and outer.kind == "function" and isinstance(node, FunctionNode):
            reads = sorted(free_uses.get(scope, []), key=lambda read: read[2].position)
            lazy = isinstance(node, ast.AsyncFunctionDef) or (tree.yields and is_generator(node))
            found.append(Helper(node.name, node, scope, outer, reads, lazy))
    return found


def _free_uses(tree: ScopeTree) -> dict[Scope, list[tuple[str, Scope, Use]]]:
    """For every def scope, the uses in it of names that enclosing functions own."""
    found: dict[Scope, list[tuple[str, Scope, Use]]] = {}
    for (owner, name), uses in tree.uses.items():
        if owner.kind == "module":
            continue
        for use in uses:
            for scope in use.scope.ancestors():
                if owner is scope:
                    break
                if scope.kind == "function":
                    found.setdefault(scope, []).append((name, owner, use))
    return found


def is_later(inner: Scope, outer: Scope) -> bool:
    """Tell whether code of ``inner`` may run after the call of ``outer``, in which it lies, has returned."""
    return inner.frame() is not outer.frame()


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a frame a captured name is read on behalf of a call; ``final``: it may be read again at any
    time later.
    """

    node: ast.AST
    final: bool


class Analysis:
    """One file's scopes and helpers, with the flow of each frame worked out when first asked for."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = read_scopes(source)
        self.helpers = find_helpers(self.tree)
        self.by_scope = {helper.scope: helper for helper in self.helpers}
        self._flows: dict[Scope, Flow] = {}

    @cached_property
    def _owned(self) -> dict[Scope, set[str]]:
        """The variables of every scope."""
        found: dict[Scope, set[str]] = {}
        for owner, name in (*self.tree.uses, *self.tree.binders):
            found.setdefault(owner, set()).add(name)
        return found

    def flow(self, frame: Scope) -> Flow:
        """The flow of a function or of the module.

        Raises:
            NotUnderstood: if the frame holds a statement of a kind that is not known.
        """
        if frame not in self._flows:
            names = frozenset(self._owned.get(frame, ()))
            self._flows[frame] = Flow(Graph(self.tree, frame, names).build())
        return self._flows[frame]

    def helper_at(self, owner: Scope, name: str) -> Helper | None:
        """The helper that a variable is bound to by definition."""
        binders = self.tree.binders.get((owner, name), [])
        scopes = (scope for b in binders if (scope := self.tree.by_node.get(b.node)) is not None)
        return next((self.by_scope[scope] for scope in scopes if scope in self.by_scope), None)

    def uses(self, helper: Helper) -> list[Use]:
        """Every load of the helper's name."""
        return self.tree.uses.get((helper.outer, helper.scope.name), [])


class Lifting:
    """One attempt to lift a set of helpers together.

    ``calls_in`` gives the calls of other candidates from within each, ``nested`` the other candidates inside
    it; ``foreign`` gives, for helpers that move to another module, the source module's globals that must be
    passed to them; ``seams`` are the globals that tests replace.
    """

    def __init__(
        self,
        analysis: Analysis,
        candidates: set[Helper],
        foreign: Mapping[Helper, frozenset[str]],
        seams: frozenset[str] = frozenset(),
    ) -> None:
        self.analysis = analysis
        self.tree = analysis.tree
        self.candidates = candidates
        self.foreign = foreign
        self.seams = seams
        self.called_anew = {(h.outer, h.scope.name) for h in candidates}
        # A function whose loop is taken out is a candidate, too, and no helper of the file.
        self._by_scope = {helper.scope: helper for helper in candidates}
        self.calls_in: dict[Helper, list[tuple[Helper, Use]]] = {helper: [] for helper in candidates}
        for callee in candidates:
            for use in analysis.uses(callee):
                caller = self.enclosing(use.scope)
                if caller is not None:
                    self.calls_in[caller].append((callee, use))
        self.nested: dict[Helper, list[Helper]] = {helper: [] for helper in candidates}
        for helper in candidates:
            for scope in helper.outer.ancestors():
                if scope in self._by_scope:
                    self.nested[self._by_scope[scope]].append(helper)
        self._belonging: dict[Need, dict[Helper, list[Use]]] = {}
        self.needs = self._all_needs()
        self.kept = self._all_kept()

    def declarations(self) -> dict[ast.Nonlocal, None]:
        """Declarations of what candidates capture, which lifted ones have no need of."""
        return {
            statement: None
            for statements in self.tree.declared.values()
            for statement, scope in statements
            if isinstance(statement, ast.Nonlocal) and scope in self._by_scope
        }

    def enclosing(self, scope: Scope) -> Helper | None:
        """The innermost candidate around a scope."""
        return next(filter(None, map(self._by_scope.get, scope.ancestors())), None)

    def own_needs(self, helper: Helper) -> list[tuple[tuple[int, int], Need]]:
        """List a helper's own reads from outside that must be passed, with the place."""
        found = [
            (use.position, (name, owner))
            for name, owner, use in helper.reads
            if (owner, name) not in self.called_anew and self.enclosing(use.scope) is helper
        ]
        for name in self.foreign.get(helper, ()):
            need = name, self.tree.module
            found += [(use.position, need) for use in self._uses_in(helper, need)]
        return found

    def _uses_in(self, helper: Helper, need: Need) -> list[Use]:
        """Uses of a name that belong to a candidate; those of all candidates are found at once."""
        if need not in self._belonging:
            found: dict[Helper, list[Use]] = {}
            for use in self.tree.uses.get((need[1], need[0]), ()):
                if (around := self.enclosing(use.scope)) is not None:
                    found.setdefault(around, []).append(use)
            self._belonging[need] = found
        return self._belonging[need].get(helper, [])

    def _all_needs(self) -> dict[Helper, tuple[Need, ...]]:
        """Least fixed point: own needs and those of the candidates called, in the order of the text."""
        needs: dict[Helper, tuple[Need, ...]] = dict.fromkeys(self.candidates, ())
        ordered = sorted(self.candidates, key=lambda helper: helper.scope.qualname)
        changed = True
        while changed:
            changed = False
            for helper in ordered:
                items = self.own_needs(helper)
                for callee, use in self.calls_in[helper]:
                    for name, owner in needs[callee]:
                        if self._outside(helper, owner):
                            items.append((use.position, (name, owner)))
                items.sort(key=lambda item: item[0])
                merged = tuple(dict.fromkeys(need for _, need in items))
                if set(merged) != set(needs[helper]) or len(merged) != len(needs[helper]):
                    changed = True
                needs[helper] = merged
        return needs

    def _outside(self, helper: Helper, owner: Scope) -> bool:
        """Tell whether a name of ``owner`` has to be handed in to a lifted helper."""
        if owner is self.tree.module:
            return helper in self.foreign
        return not owner.inside(helper.scope)

    def _all_kept(self) -> dict[Helper, frozenset[Need]]:
        """Needs that something made by the helper may read after the helper has returned."""
        kept = {
            helper: frozenset(
                need
                for need in self.needs[helper]
                if any(is_later(use.scope, helper.scope) for use in self._uses_in(helper, need))
            )
            for helper in self.candidates
        }
        changed = True
        while changed:
            changed = False
            for helper in self.candidates:
                more = set(kept[helper])
                for callee, use in self.calls_in[helper]:
                    if is_later(use.scope, helper.scope) or (
                        callee.lazy and use.call not in self.tree.awaited
                    ):
                        more.update(self.needs[callee])
                    else:
                        more.update(kept[callee])
                more &= set(self.needs[helper])
                if more != kept[helper]:
                    kept[helper] = frozenset(more)
                    changed = True
        return kept

    def reached(self, helper: Helper) -> set[Helper]:
        """Candidates that a candidate calls, directly or through others."""
        found: set[Helper] = set()
        waiting = [helper]
        while waiting:
            for callee, _ in self.calls_in[waiting.pop()]:
                if callee not in found:
                    found.add(callee)
                    waiting.append(callee)
        return found - {helper}

    def outlives(self, helper: Helper, need: Need, call: ast.Call) -> bool:
        """Tell whether a need of the helper may still be read when this call of it has returned."""
        return need in self.kept[helper] or (helper.lazy and call not in self.tree.awaited)

    def places(self, scope: Scope, node: ast.AST, owner: Scope) -> list[Place]:
        """Where in the flow of ``owner`` the code at ``node`` in ``scope`` may run.

        Code in a function that is only ever called directly runs at those calls; anything that gets away as a
        value may run at any time after it got away. Inside a lifted helper nothing is read: there it is a
        parameter; but a function around it that stays, and that the helper calls, reads when it runs.
        """
        found: list[Place] = []
        seen: set[tuple[Scope, bool]] = set()
        waiting: list[tuple[Scope, ast.AST, bool]] = [(scope, node, False)]
        while waiting:
            inner, at, final = waiting.pop()
            frame = inner.frame()
            if frame is owner.frame():
                found.append(Place(at, final))
                continue
            helper = self.analysis.by_scope.get(frame)
            handed = helper in self.candidates and scope.inside(frame)
            if handed or (frame, final) in seen or frame.parent is None:
                continue
            seen.add((frame, final))
            key = self._plain_function(frame)
            if key is None:
                waiting.append((frame.parent, frame.node, True))
                continue
            assert helper is not None
            for use in self.tree.uses.get(key, []):
                if use.call is not None and not helper.lazy:
                    waiting.append((use.scope, use.call, final))
                else:
                    waiting.append((use.scope, use.node, True))
        return found

    def _plain_function(self, frame: Scope) -> tuple[Scope, str] | None:
        """The name under which alone an undecorated local function is reached, if that is so."""
        helper = self.analysis.by_scope.get(frame)
        if helper is None or helper.node.decorator_list:
            return None
        key = (helper.outer, helper.scope.name)
        return key if len(self.tree.binders.get(key, ())) == 1 else None
