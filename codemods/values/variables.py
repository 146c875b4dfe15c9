"""Classes of a file's variables, as far as each of their bindings states one."""

from __future__ import annotations

import ast

from codemods.program.lifting import Analysis
from codemods.program.nodes import first_of
from codemods.program.scopes import Binder, Scope
from codemods.program.source import expression_in
from codemods.values.stated import NONE, Classes, Stated

_DEPTH = 10
_LITERALS = (bool, bytes, complex, float, int, str)


class Variables:
    """Annotations that declare variables, and classes of what is assigned to the others."""

    def __init__(self, analysis: Analysis, stated: Stated) -> None:
        self.tree = analysis.tree
        self.stated = stated
        self._found: dict[tuple[Scope, str], Classes | None] = {}

    def declaration(self, name: str, owner: Scope) -> ast.expr | None:
        """The one annotation that declares a variable in names of the module; none of star arguments."""
        declared = [node for b in self._binders(name, owner) if (node := _annotation(b.node)) is not None]
        arguments = getattr(owner.node, "args", None)
        starred = arguments and (arguments.vararg, arguments.kwarg)
        if len(declared) != 1 or (starred and any(b.node in starred for b in self._binders(name, owner))):
            return None
        found = declared[0]
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            found = expression_in(found.value.strip()) or found
        names = [part.id for part in ast.walk(found) if isinstance(part, ast.Name)]
        outer = all(self.tree.owner(owner, each) is self.tree.module for each in names)
        return found if outer else None

    def of(self, name: str, owner: Scope) -> Classes | None:
        """The classes of a variable: what it is declared to be, or one class, or that and None."""
        key = owner, name
        if key not in self._found:
            self._found[key] = None
            self._found[key] = self._of(name, owner)
        return self._found[key]

    def _of(self, name: str, owner: Scope) -> Classes | None:
        binders = self._binders(name, owner)
        if any(_annotation(binder.node) is not None for binder in binders):
            return self.stated.annotation(self.declaration(name, owner), self.stated.project.own)
        given = [self._given(binder) for binder in binders]
        known = [classes for classes in given if classes is not None]
        found = frozenset[str]().union(*known)
        return found if len(known) == len(given) and len(found - {NONE}) == 1 else None

    def _binders(self, name: str, owner: Scope) -> list[Binder]:
        return [binder for binder in self.tree.binders.get((owner, name), []) if not binder.deletes]

    def _given(self, binder: Binder) -> Classes | None:
        """The classes of what a binding gives a variable."""
        around = self.tree.parents.get(binder.node)
        match binder.node if isinstance(binder.node, ast.NamedExpr) else around:
            case ast.Assign(targets, value) if binder.node in targets:
                return self.value(value, binder.scope)
            case ast.NamedExpr(value=value):
                return self.value(value, binder.scope)
            case ast.AugAssign(op=ast.Add() | ast.Sub(), value=ast.Constant(value=int() | float()) as value):
                return self.value(value, binder.scope)
        return None

    def value(self, node: ast.expr, scope: Scope, depth: int = 0) -> Classes | None:
        """The classes of a literal, a call of a class, a variable, a declared field.

        Of a variable or field that may be one of several it is not said: what is read may have been tested.
        """
        found: Classes | None = None
        match node:
            case ast.Constant(value=None):
                return frozenset([NONE])
            case ast.Constant(value=value) | ast.UnaryOp(ast.USub(), ast.Constant(value=value)):
                kind = type(value)
                return frozenset([f"builtins.{kind.__name__}"]) if kind in _LITERALS else None
            case ast.JoinedStr():
                return frozenset(["builtins.str"])
            case ast.Call(func=function):
                path = self._path(function, scope)
                return None if path is None else self.stated.result(path)
            case ast.Name(id=name):
                found = self.of(name, self.tree.owner(scope, name))
            case ast.Attribute(value=taken, attr=name) if depth < _DEPTH:
                owners = self.value(taken, scope, depth + 1) or ()
                found = next((self.stated.field(owner, name) for owner in owners), None)
        return found if found is not None and len(found) == 1 and NONE not in found else None

    def _path(self, node: ast.expr, scope: Scope) -> str | None:
        """The dotted path of an expression whose first name is the module's."""
        first = first_of(node)
        if not isinstance(first, ast.Name) or self.tree.owner(scope, first.id) is not self.tree.module:
            return None
        return self.stated.project.own.path(node)


def _annotation(node: ast.AST) -> ast.expr | None:
    return node.annotation if isinstance(node, (ast.arg, ast.AnnAssign)) else None
