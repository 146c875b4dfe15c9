"""The helpers of a file: where they are, what they capture, and when they read it."""

from __future__ import annotations

import ast
import builtins
import dis
import types
from collections.abc import Mapping
from dataclasses import dataclass

from codemods.program.nodes import first_line, own_nodes
from codemods.program.scopes import FunctionNode, Scope, ScopeTree, Use
from codemods.program.source import Source, nested_code


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


def is_generator(node: FunctionNode) -> bool:
    """Tell whether calling a function only makes a generator."""
    return any(isinstance(item, (ast.Yield, ast.YieldFrom)) for item in own_nodes(node.body))


_ENCODING = frozenset(["CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "RESUME", "RETURN_GENERATOR"])
_LOADS = frozenset(["LOAD_CONST", "LOAD_DEREF", "LOAD_FAST", "LOAD_GLOBAL", "PUSH_NULL"])
_BUILDS = frozenset(["BUILD_LIST", "BUILD_TUPLE"])


def entry_reads(source: Source, helper: Helper) -> dict[str, bool]:
    """Captures read only at the helper's entry; whether an unbound one is the first thing to fail.

    Such a read can as well be made by the caller: no other code, in this thread or another, runs between the
    two that the program could tell from code running before both.
    """
    code = _code_of(source, helper)
    if code is None:
        return {}
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += sum(bool(code.co_flags & flag) for flag in (0x04, 0x08))
    given = set(code.co_varnames[:parameters])
    handled = [
        range(entry.start, entry.end)
        for entry in dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    ]
    first: dict[str, bool] = {}
    later: set[str] = {name for inner in nested_code(code) for name in inner.co_freevars}
    at_entry, sure, made = True, True, False
    for item in dis.get_instructions(code):
        name = item.opname
        # What a loop comes back to runs more than once.
        at_entry = at_entry and not item.is_jump_target
        if name == "LOAD_DEREF" and item.argval in code.co_freevars:
            if at_entry:
                unhandled = not any(item.offset in part for part in handled)
                first[item.argval] = first.get(item.argval, True) and sure and unhandled
            else:
                later.add(item.argval)
        if made and name == "POP_TOP":
            made = False
            continue
        made = name == "RETURN_GENERATOR"
        at_entry = at_entry and name in _ENCODING | _LOADS | _BUILDS
        sure = sure and not (
            (name == "LOAD_GLOBAL" and not hasattr(builtins, str(item.argval)))
            or (name == "LOAD_FAST" and item.argval not in given)
            or (name == "LOAD_DEREF" and item.argval not in code.co_freevars)
        )
    return {name: alike for name, alike in first.items() if name not in later}


def _code_of(source: Source, helper: Helper) -> types.CodeType | None:
    """The helper's code object, if name and line tell which it is."""
    codes, line = [source.compiled()], first_line(helper.node)
    for code in codes:
        codes += nested_code(code)
    found = [c for c in codes if (c.co_name, c.co_firstlineno) == (helper.node.name, line)]
    return found[0] if len(found) == 1 else None
