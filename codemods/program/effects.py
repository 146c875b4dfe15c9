"""Effects of running a statement: none but binding names, raising or reading names, or running code of
others.

Code of others is whatever the program defines or its packages bring: functions, special methods, descriptors,
decorators, hooks of classes, imported modules. Builtins and a few modules of the standard library are known.
What an object does when the last reference to it goes is no part of this.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable

from codemods.program.annotations import stated_by
from codemods.program.expressions import Definition, Effect, Expressions, Kind, Meaning, Meant
from codemods.program.nodes import all_defaults, names_bound, own_nodes

__all__ = ["Definition", "Effect", "Effects", "Meaning", "Meant"]

_HOOKS = frozenset(["__class_getitem__", "__init_subclass__", "__mro_entries__", "__set_name__"])
_DEEPEST = 20


class Effects:
    """Answers for statements of one file, or of the body of a class in it, whose values are told their names.

    With ``lazy``, annotations are not evaluated (the file has the future import).
    """

    def __init__(self, meaning: Meaning, *, lazy: bool = False) -> None:
        self._values = Expressions(meaning)
        self._lazy = lazy
        self._in_class = False

    def _in_body(self, node: ast.ClassDef) -> Effects:
        inner = copy.copy(self)
        # Functions in it have names of their own.
        bound = {name for each in own_nodes(node.body) for name in names_bound(each)}
        inner._values, inner._in_class = self._values.within(bound), True
        return inner

    def runs(self, body: Iterable[ast.stmt], *, imports: bool = True) -> bool:
        """Tell whether running some statements of a module may run code of others."""
        return self.most(body, imports=imports) is Effect.RUNS

    def most(self, body: Iterable[ast.stmt], *, imports: bool = True) -> Effect:
        """The most that running some statements of a module may do."""
        return max((self.of(each, imports=imports) for each in body), default=Effect.NONE)

    def of(self, node: ast.stmt, *, imports: bool = True) -> Effect:
        """The most that running a statement of a module may do; without ``imports``, besides importing."""
        values = self._values
        match node:
            case ast.Pass() | ast.Global() | ast.Break() | ast.Continue():
                return Effect.NONE
            case ast.ImportFrom(module="__future__"):
                return Effect.NONE
            case ast.Import() | ast.ImportFrom() if not self._in_class:
                return Effect.RUNS if imports else Effect.NONE
            case ast.Expr(value):
                return values.effect(value)
            case ast.Assign(targets, value):
                return max(self._bound(target, value) for target in targets)
            case ast.AnnAssign(target, annotation, value):
                bound = self._bound(target, value) if value is not None else Effect.NONE
                plain = isinstance(target, ast.Name)
                return max(bound, self._annotation(annotation)) if plain else Effect.RUNS
            case ast.Assert(test, message):
                return max(Effect.RAISES, values.truth(test), values.effect(message))
            case ast.If(test, body, orelse):
                return max(values.truth(test), self.most([*body, *orelse], imports=imports))
            case ast.Try(body, handlers, orelse, final):
                caught = [each.type for each in handlers if each.type is not None]
                inner = [*body, *orelse, *final, *(s for each in handlers for s in each.body)]
                known = all(map(values.is_type, caught))
                return self.most(inner, imports=imports) if known else Effect.RUNS
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._function(node)
            case ast.ClassDef():
                return self._class(node)
        return Effect.RUNS

    def _annotation(self, node: ast.expr) -> Effect:
        return Effect.NONE if self._lazy else self._values.effect(node)

    def _bound(self, target: ast.expr, value: ast.expr) -> Effect:
        """The most that evaluating a value and binding it may do."""
        effect, kind = self._values.of(value)
        match target:
            case ast.Name(name):
                if self._in_class and kind is Kind.UNKNOWN:
                    return Effect.RUNS
                special = self._in_class and name.startswith("__")
                return max(effect, Effect.RAISES) if special else effect
            case ast.Tuple(parts) | ast.List(parts) if all(isinstance(part, ast.Name) for part in parts):
                known = kind <= (Kind.MADE if self._in_class else Kind.HELD)
                return max(effect, Effect.RAISES) if known else Effect.RUNS
        return Effect.RUNS

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Effect:
        values = self._values
        found = [values.effect(each) for each in all_defaults(node.args)]
        found += map(self._annotation, stated_by(node))
        found += map(values.decorates, node.decorator_list)
        return max(found, default=Effect.NONE)

    def _class(self, node: ast.ClassDef) -> Effect:
        if getattr(node, "type_params", ()):
            return Effect.RUNS
        inner = self._in_body(node)
        found = [inner.of(statement) for statement in node.body]
        found += [self._values.decorates(each) for each in node.decorator_list]
        if not all(_is_plain_base(self._values, base, 0) for base in _bases(node)):
            return Effect.RUNS
        if _has_metaclass(self._values, node) or any(k.arg != "metaclass" for k in node.keywords):
            return Effect.RUNS
        if _bases(node):
            found.append(Effect.RAISES)
        return max(found, default=Effect.NONE)


def _bases(node: ast.ClassDef) -> list[ast.expr]:
    """The bases of a class, and its metaclass."""
    return [*node.bases, *(keyword.value for keyword in node.keywords if keyword.arg == "metaclass")]


def _is_plain_base(values: Expressions, base: ast.expr, depth: int) -> bool:
    """Tell whether making a class of this base, or metaclass, runs nothing of the program."""
    if isinstance(base, ast.Subscript):
        return values.is_type(base.slice) and _is_plain_base(values, base.value, depth)
    found = values.meaning(base)
    if isinstance(found, ast.ClassDef):
        hooked = any(isinstance(inner, Definition) and inner.name in _HOOKS for inner in found.body)
        plain = not hooked and depth < _DEEPEST
        plain = plain and all(values.decorates(each) < Effect.RUNS for each in found.decorator_list)
        plain = plain and not _has_metaclass(values, found)
        return plain and all(_is_plain_base(values, each, depth + 1) for each in _bases(found))
    # An enumeration makes objects of what its body binds.
    return bool(values.known(base)) and not values.known(base).startswith("enum.")


def _has_metaclass(values: Expressions, node: ast.ClassDef) -> bool:
    """Tell whether a metaclass of the program makes the class: it may run anything."""
    metas = (keyword.value for keyword in node.keywords if keyword.arg == "metaclass")
    return not all(values.known(meta) for meta in metas)
