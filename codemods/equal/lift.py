"""Proof of a whole composition: every lifted definition, and all that is left."""

from __future__ import annotations

import ast
import bisect
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from codemods.equal.code import (
    FUNCTIONS,
    NewCall,
    NotProven,
    absolute,
    alike,
    drop_statements,
    prove_helper,
    turn_back,
    unresolved,
)
from codemods.program.helpers import Helper
from codemods.program.imports import bound_name
from codemods.program.scopes import FunctionNode
from codemods.program.source import Source, blocks_of, statements_in
from codemods.rewrites.lift.decision import Decision
from codemods.rewrites.naming import Names

_WORD = re.compile(r"[A-Za-z_]\w*")


class Module(Protocol):
    """A file that helpers were moved to."""

    helpers: list[Helper]
    module: str
    start: Source | None


def prove_all(
    decision: Decision,
    names: Mapping[Helper, Names],
    rest: Source,
    moved: Sequence[tuple[Module, Source]],
    package: str | None,
    added: Collection[str] = (),
) -> None:
    """Check new files against the original one. Their trees are used up.

    ``moved`` is empty where the lifted functions stand in the rest itself; ``added`` are imports that only
    annotations need.

    Raises:
        NotProven: if anything differs but the lift.
    """
    proof = _Proof(decision, names, package)
    if moved:
        for module, made in moved:
            before = unresolved(module.start) if module.start is not None else set[str]()
            if lost := sorted(unresolved(made) - before):
                raise NotProven(f"{module.module}: {', '.join(lost)} would not be bound")
            proof.definitions(made.tree, module.helpers)
    else:
        proof.definitions(rest.tree, decision.lifted)
        lifted = {names[helper].definition for helper in decision.lifted}
        drop_statements(rest.tree, lambda s: isinstance(s, FUNCTIONS) and s.name in lifted)
    drop_statements(rest.tree, lambda s: isinstance(s, ast.ImportFrom) and ast.unparse(s) in added)
    proof.rest(rest, {module.module for module, _ in moved})
    for helper in decision.lifted:
        found, total = proof.calls[helper], len(decision.lifting.analysis.rewritten_uses(helper))
        if found != total:
            raise NotProven(f"{helper.name}: {found} of {total} calls were rewritten", helper)


class _Proof:
    """One decision, and how many calls of each helper were found in the new trees."""

    def __init__(self, decision: Decision, names: Mapping[Helper, Names], package: str | None) -> None:
        self.decision = decision
        self.names = names
        self.package = package
        self.calls: Counter[Helper] = Counter()

    def _call(self, helper: Helper) -> NewCall:
        return NewCall(helper, tuple(name for name, _ in self.decision.lifting.needs[helper]))

    def definitions(self, tree: ast.Module, helpers: list[Helper]) -> None:
        """Check the definitions in one module."""
        lifting, names = self.decision.lifting, self.names
        found: dict[str, list[FunctionNode]] = {}
        top = set(tree.body)
        for node in statements_in(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(node.name, []).append(node)
        for helper in helpers:
            definition = names[helper].definition
            moved = found.get(definition, [])
            moved = [node for node in moved if node in top] or moved
            if len(moved) != 1:
                raise NotProven(f"{definition} is defined {len(moved)} times", helper)
            calls = {
                names[callee].calls[helper]: self._call(callee) for callee, _ in lifting.calls_in[helper]
            }
            own = [name for name, owner in lifting.needs[helper] if owner is lifting.tree.module]
            captures = [name for name, owner in lifting.needs[helper] if owner is not lifting.tree.module]
            inside, flags = lifting.nested[helper], lifting.tree.source.future_flags
            self.calls.update(
                prove_helper(helper, moved[0], calls, captures, own, inside, flags, self.package)
            )

    def rest(self, rest: Source, modules: set[str]) -> None:
        """Check that what is left is the original without the helpers, once calls are turned back."""
        source, lifted, names = self.decision.lifting.tree.source, self.decision.lifted, self.names
        places = {(helper.node.lineno, helper.node.col_offset) for helper in lifted}
        old, new = ast.parse(source.text), rest.tree
        bound = {
            (helper.node.lineno, helper.node.col_offset): names[helper].calls[None]
            for helper in lifted
            if self.decision.lifting.analysis.keeps_name(helper)
        }
        bind_names(old, bound)
        drop_statements(old, lambda s: isinstance(s, FUNCTIONS) and (s.lineno, s.col_offset) in places)
        calls = {names[helper].calls[None]: self._call(helper) for helper in lifted}
        added = {(names[helper].definition, names[helper].calls[None]) for helper in lifted}
        if modules:
            absolute(new, self.package)
        drop_statements(
            new, lambda s: isinstance(s, ast.ImportFrom) and s.module in modules and _only(s, added)
        )
        for tree in (old, new):
            drop_statements(tree, lambda s: isinstance(s, ast.Pass))
        written = Written(source, rest, {line for line, _ in places}, calls)
        for one, other in written.differing(old.body, new.body):
            self.calls.update(turn_back(other, calls))
            absolute(one, self.package)
            absolute(other, self.package)
            if not alike(one, other):
                raise NotProven(f"line {getattr(one, 'lineno', '?')}: what is left of a statement differs")


class Written:
    """Tells which statements of two versions of a file must be looked at: those that are written alike, with
    nothing taken out and no call turned back in them, are the same.
    """

    def __init__(self, old: Source, new: Source, taken_out: Collection[int], names: Collection[str]) -> None:
        """``taken_out`` are lines of the old version at which something was; ``names`` are called anew."""
        self.old, self.new = old, new
        self.taken_out = sorted(taken_out)
        self.names = frozenset(names)

    def differing(
        self, before: Sequence[ast.stmt], after: Sequence[ast.stmt]
    ) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Pairs that must be compared, without the blocks in them, which are taken out and paired too.

        Raises:
            NotProven: if there are more statements in one than in the other.
        """
        if len(before) != len(after):
            raise NotProven("what is left has other statements than before")
        for one, other in zip(before, after, strict=True):
            if self._written_alike(one, other):
                continue
            pairs = list(zip(_take_blocks(one), _take_blocks(other), strict=False))
            yield one, other
            for left, right in pairs:
                yield from self.differing(left, right)

    def _written_alike(self, one: ast.stmt, other: ast.stmt) -> bool:
        if isinstance(one, ast.match_case) or isinstance(other, ast.match_case):
            return False
        text = self._text(self.old, one)
        if text != self._text(self.new, other) or not text.isascii():
            return False
        if not self.names.isdisjoint(_WORD.findall(text)):
            return False
        following = bisect.bisect_left(self.taken_out, one.lineno)
        return following == len(self.taken_out) or self.taken_out[following] > (one.end_lineno or one.lineno)

    def _text(self, source: Source, node: ast.stmt) -> str:
        parts: list[ast.expr | ast.stmt] = [*getattr(node, "decorator_list", ()), node]
        return "\n@".join(map(source.segment, parts))


def bind_names(tree: ast.Module, bound: Mapping[tuple[int, int], str]) -> None:
    """Put in the place of some definitions assignments of other functions to their names."""
    for node in statements_in(tree) if bound else ():
        for block in blocks_of(node):
            for index, old in enumerate(block):
                if isinstance(old, FUNCTIONS) and (old.lineno, old.col_offset) in bound:
                    value = ast.Name(bound[old.lineno, old.col_offset], ast.Load())
                    assign = ast.Assign([ast.Name(old.name, ast.Store())], value)
                    block[index] = ast.copy_location(assign, old)


def _take_blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """Take the statements out of a statement."""
    found = [list(block) for block in blocks_of(node)]
    for block in blocks_of(node):
        block.clear()
    return found


def _only(statement: ast.ImportFrom, added: set[tuple[str, str]]) -> bool:
    """Whether an import statement brings in nothing but lifted functions."""
    return all((alias.name, bound_name(alias)) in added for alias in statement.names)
