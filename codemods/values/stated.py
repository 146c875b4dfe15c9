"""Types that a project's text states: annotations, classes, results of functions, members."""

from __future__ import annotations

import ast
import re

from codemods.program.nodes import called
from codemods.program.source import expression_in
from codemods.values import outside
from codemods.values.project import Definition, Module, Project
from codemods.values.types import (
    ELLIPSIS,
    LITERAL,
    MODULE,
    NONE,
    PARAMETERS,
    Type,
    all_known,
    callable_giving,
    union,
)

_DEPTH = 8
# Names that type variables go by.
_VARIABLE = re.compile(r"_?[A-Z][a-zA-Z]?(_co|_contra)?$|.*_(co|contra)$")


class Stated:
    """Reads what is stated, following imports."""

    def __init__(self, project: Project) -> None:
        self.project = project

    # Annotations

    def annotation(self, node: ast.expr | None, module: Module, own: Type | None = None) -> Type | None:
        """The type that an annotation at the top level of a module states; ``own`` is what ``Self`` means."""
        match node:
            case ast.Constant(value=None):
                return NONE
            case ast.Constant(value=str() as text):
                inner = expression_in(text.strip())
                if inner is None:
                    return None
                return None if isinstance(inner, ast.Constant) else self.annotation(inner, module, own)
            case ast.Name() | ast.Attribute():
                return self._named(node, module, own)
            case ast.BinOp(left, ast.BitOr(), right):
                return self._union([left, right], module, own)
            case ast.Subscript():
                return self._subscript(node, module, own)
        return None

    def _named(self, node: ast.expr, module: Module, own: Type | None) -> Type | None:
        path = module.path(node)
        if path is None:
            return None
        first, _, name = path.rpartition(".")
        if first in ("typing", "typing_extensions") and name == "Self":
            return own
        if name in outside.NO_TYPES:
            return None
        found = self.project.follow(path)
        if found is None:
            return None if _VARIABLE.match(name) else Type(self.project.settled(path), (), path)
        if found.members:
            return None
        if isinstance(found.node, ast.ClassDef) or _is_alias(found.node):
            return Type(found.path, (), path)
        return None

    def _union(self, parts: list[ast.expr], module: Module, own: Type | None) -> Type | None:
        known = all_known(self.annotation(part, module, own) for part in parts)
        return None if known is None else union(known)

    def _subscript(self, node: ast.Subscript, module: Module, own: Type | None) -> Type | None:
        path = module.path(node.value) or ""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        first, _, name = path.rpartition(".")
        if first in ("typing", "typing_extensions"):
            if name == "Optional":
                kind = self.annotation(node.slice, module, own)
                return None if kind is None else union([kind, NONE])
            if name == "Union":
                return self._union(parts, module, own)
            if name == "Literal":
                texts = [p for p in parts if isinstance(p, ast.Constant)]
                kinds = tuple(Type(LITERAL + repr(p.value)) for p in texts)
                return Type(path, kinds, path) if len(texts) == len(parts) else None
        base = self.annotation(node.value, module, own)
        if base is None or base.args:
            return None
        args = all_known(self._argument(part, module, own) for part in parts)
        return None if args is None else Type(base.path, args, base.spelled)

    def _argument(self, node: ast.expr, module: Module, own: Type | None) -> Type | None:
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return ELLIPSIS
        if isinstance(node, ast.List):
            known = all_known(self.annotation(part, module, own) for part in node.elts)
            return None if known is None else Type(PARAMETERS, known)
        return self.annotation(node, module, own)

    # Definitions

    def instance(self, path: str) -> Type | None:
        """What a call of a class gives: an object of it, unless its making may give something else."""
        found = self.project.follow(path)
        if found is None:
            settled = self.project.settled(path)
            return Type(settled, (), path) if settled in outside.CLASSES else None
        if found.members or not isinstance(found.node, ast.ClassDef):
            return None
        return Type(found.path, (), path) if self._plain(found.module, found.node) else None

    def _plain(self, module: Module, node: ast.ClassDef, depth: int = 0) -> bool:
        """Whether a class has no type parameters, and its calls give its objects."""
        if node.keywords or getattr(node, "type_params", None) or depth > _DEPTH:
            return False
        for decorator in node.decorator_list:
            if _decorator(decorator, module) not in (
                "dataclasses.dataclass",
                "functools.total_ordering",
                "typing.final",
                "typing.runtime_checkable",
            ):
                return False
        own = (s.name for s in node.body if isinstance(s, ast.FunctionDef))
        if not {"__new__", "__class_getitem__"}.isdisjoint(own):
            return False
        return all(self._plain_base(module, base, depth) for base in node.bases)

    def _plain_base(self, module: Module, base: ast.expr, depth: int) -> bool:
        path = module.path(base)
        if path is None:
            return False
        found = self.project.follow(path)
        if found is not None:
            return (
                isinstance(found.node, ast.ClassDef)
                and not found.members
                and self._plain(found.module, found.node, depth + 1)
            )
        settled = self.project.settled(path)
        top, _, name = settled.partition(".")
        if settled in outside.CLASSES or settled in (outside.MODULE_CLASS, "abc.ABC", "typing.NamedTuple"):
            return True
        exception = top == "builtins" and name.endswith(("Error", "Exception", "Warning"))
        return exception or settled in ("torch.optim.Optimizer", "typing.Protocol")

    def result(self, path: str) -> Type | None:
        """What a call of what a path leads to gives."""
        if path in outside.RESULTS:
            return outside.RESULTS[path]
        kind = self.instance(path)
        if kind is not None:
            return kind
        found = self.project.follow(path)
        if found is None:
            return outside.RESULTS.get(self.project.settled(path))
        match found.node, found.members:
            case (ast.FunctionDef() as function, ()):
                return self.returned(function, found.module)
            case (ast.ClassDef() as node, (method,)):
                own = self.instance(found.path)
                member = _member(node, method)
                if isinstance(member, ast.FunctionDef) and _binds_class(member, found.module):
                    return self.returned(member, found.module, own)
        return None

    def returned(self, node: ast.stmt, module: Module, own: Type | None = None) -> Type | None:
        """What a function says that it returns."""
        if not isinstance(node, ast.FunctionDef) or getattr(node, "type_params", None):
            return None
        if not all(_decorator(d, module) in outside.TRANSPARENT for d in node.decorator_list):
            return None
        return self.annotation(node.returns, module, own)

    def thing(self, path: str) -> Type | None:
        """What a path leads to, as a value: a class, a function or a module."""
        found = self.project.follow(path)
        if found is None:
            settled = self.project.settled(path)
            if settled in outside.CLASSES:
                return Type("builtins.type", (Type(settled, (), path),))
            return callable_giving(outside.RESULTS[settled]) if settled in outside.RESULTS else None
        if found.members:
            return None
        if found.node is None:
            return MODULE
        match found.node:
            case ast.ClassDef():
                kind = self.instance(path)
                return None if kind is None else Type("builtins.type", (kind,))
            case ast.FunctionDef() as node:
                plain = all(_decorator(d, found.module) in outside.TRANSPARENT for d in node.decorator_list)
                return callable_giving(self.returned(node, found.module)) if plain else None
            case ast.AnnAssign(annotation=annotation):
                return self.annotation(annotation, found.module)
            case ast.Assign(value=ast.Constant(value=value)):
                return constant(value)
        return None

    # Members

    def member(self, kind: Type, name: str, *, called: bool) -> Type | None:
        """An attribute of an object, or what a call of a method gives."""
        own = kind
        for _ in range(_DEPTH):
            known = outside.METHODS.get((kind.path, name)) if called else None
            if known is not None:
                return known
            if kind == outside.TENSOR:
                return kind if called and name in outside.TENSOR_METHODS else None
            if kind.path == outside.MODULE_CLASS:
                return own if called and name in outside.GIVES_ITSELF else None
            found = self.project.follow(kind.path)
            if found is None or not isinstance(found.node, ast.ClassDef) or kind.args:
                return None
            member = _member(found.node, name)
            if member is not None:
                return self._of_member(member, found, own, called=called)
            base = found.node.bases[0] if len(found.node.bases) == 1 else None
            path = found.module.path(base) if base is not None else None
            if path is None:
                return None
            kind = Type(self.project.settled(path), (), path)
        return None

    def _of_member(self, member: ast.stmt, found: Definition, own: Type, *, called: bool) -> Type | None:
        module = found.module
        if isinstance(member, ast.AnnAssign):
            return None if called else self.annotation(member.annotation, module, own)
        if not isinstance(member, ast.FunctionDef):
            return None
        paths = [_decorator(d, module) for d in member.decorator_list]
        if outside.PROPERTIES.intersection(paths):
            return None if called or len(paths) > 1 else self.annotation(member.returns, module, own)
        return self.returned(member, module, own) if called else None


def constant(value: object) -> Type | None:
    """The type of a constant."""
    if value is None:
        return NONE
    kind = type(value)
    return Type(f"builtins.{kind.__name__}") if kind in (bool, int, float, complex, str, bytes) else None


def _is_alias(node: ast.stmt | None) -> bool:
    """Whether a statement names a type: ``Masks = dict[str, Tensor]``."""
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(
        node.value, (ast.Subscript, ast.BinOp)
    )


def _member(node: ast.ClassDef, name: str) -> ast.stmt | None:
    """The one statement of a class body that makes a member; a property counts by its first function."""
    found: list[ast.stmt] = []
    for statement in node.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names = [statement.name]
            case ast.AnnAssign(target=ast.Name(id=bound)):
                names = [bound]
            case _:
                names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
        if name in names:
            found.append(statement)
    if len(found) > 1 and all(_sets(statement) for statement in found[1:]):
        return found[0]
    return found[0] if len(found) == 1 else None


def _sets(statement: ast.stmt) -> bool:
    """Whether a function is a property's setter or deleter."""
    decorators = getattr(statement, "decorator_list", [])
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in decorators)


def _decorator(node: ast.expr, module: Module) -> str | None:
    return module.path(called(node))


def _binds_class(node: ast.FunctionDef, module: Module) -> bool:
    """Whether a method can be called on its class."""
    paths = {_decorator(d, module) for d in node.decorator_list}
    return not paths.isdisjoint(("builtins.classmethod", "builtins.staticmethod"))
