"""What the variables of a file's functions are, as far as every one of their bindings says."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.program.annotations import plain_names
from codemods.program.lifting import Analysis
from codemods.program.nodes import defaults_of, first_of
from codemods.program.scopes import Binder, Scope
from codemods.values.outside import TENSOR
from codemods.values.stated import Stated, constant
from codemods.values.types import (
    BOOL,
    COMPLEX,
    ELLIPSIS,
    FLOAT,
    INT,
    MODULE,
    NONE,
    STR,
    Type,
    agreed,
    all_known,
    builtin,
    callable_giving,
    without_none,
)

_DEPTH = 10
_NUMBERS = (BOOL, INT, FLOAT, COMPLEX)
_SAME = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_TENSOR_OPS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_EXACT = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


class Variables:
    """The types of variables and of the expressions that are assigned to them."""

    def __init__(self, analysis: Analysis, stated: Stated) -> None:
        self.analysis = analysis
        self.tree = analysis.tree
        self.stated = stated
        self._found: dict[tuple[Scope, str], Type | None] = {}

    def of(self, name: str, owner: Scope) -> Type | None:
        """What all bindings of a variable agree on, or what it is declared to be."""
        key = owner, name
        if key not in self._found:
            self._found[key] = None
            self._found[key] = self._of(name, owner)
        return self._found[key]

    def declaration(self, name: str, owner: Scope) -> ast.expr | None:
        """The annotation that declares a variable, which is not one of star arguments, or None."""
        stated = [_annotation(binder.node) for binder in self._binders(name, owner)]
        found = [annotation for annotation in stated if annotation is not None]
        return found[0] if len(found) == 1 else None

    def _binders(self, name: str, owner: Scope) -> list[Binder]:
        return [binder for binder in self.tree.binders.get((owner, name), []) if not binder.deletes]

    def _of(self, name: str, owner: Scope) -> Type | None:
        if owner is self.tree.module:
            path = self.stated.project.own.path(ast.Name(name, ast.Load()))
            imported = any(isinstance(b.node, ast.Import) for b in self._binders(name, owner))
            return None if path is None else MODULE if imported else self.stated.thing(path)
        if owner.kind != "function":
            return None
        binders = self._binders(name, owner)
        declared = [b for b in binders if _annotation(b.node) is not None]
        given = [self._given(b) for b in binders]
        if not declared:
            return agreed(given)
        if len(declared) > 1:
            return None
        kind = self._declared(declared[0], owner)
        if kind is None or any(_contradicts(kind, value) for value in given):
            return None
        return kind

    def _declared(self, binder: Binder, owner: Scope) -> Type | None:
        node, annotation = binder.node, _annotation(binder.node)
        assert annotation is not None
        for part in ast.walk(annotation):
            if isinstance(part, ast.Name) and self.tree.owner(owner, part.id) is not self.tree.module:
                return None
        kind = self.stated.annotation(annotation, self.stated.project.own)
        arguments = getattr(owner.node, "args", None)
        if kind is None or not isinstance(node, ast.arg) or arguments is None:
            return kind
        if node is arguments.vararg:
            return builtin("tuple", kind, ELLIPSIS)
        if node is arguments.kwarg:
            return builtin("dict", STR, kind)
        match defaults_of(arguments).get(node):
            case ast.Constant(value=None) if not kind.is_optional:
                return None
        return kind

    def _given(self, binder: Binder) -> Type | None:
        """The type of what a binding gives a variable; of a parameter, what is declared."""
        node, scope = binder.node, binder.scope
        match node:
            case ast.arg():
                return None if node.annotation is None else self._declared(binder, scope)
            case ast.Import():
                return MODULE
            case ast.FunctionDef():
                return callable_giving(self._returned(node, scope))
            case ast.AnnAssign(value=ast.expr() as value):
                return self.value(value, scope)
            case ast.Name():
                return self._assigned(node, scope)
        return None

    def _returned(self, node: ast.FunctionDef, scope: Scope) -> Type | None:
        """What a local function says that it returns, where the names in that are the module's."""
        names = [] if node.returns is None else plain_names(node.returns)
        if node.decorator_list or names is None:
            return None
        outer = all(self.tree.owner(scope, name) is self.tree.module for name in names)
        return self.stated.returned(node, self.stated.project.own) if outer else None

    def _assigned(self, node: ast.Name, scope: Scope) -> Type | None:
        statement = self.tree.parents.get(node)
        match statement:
            case ast.Assign(value=value) | ast.NamedExpr(value=value):
                return self.value(value, scope)
            case ast.AugAssign(op=op, value=value):
                return self._augmented(op, self.value(value, scope))
            case ast.For(iter=ast.Call(func=function)) if statement.target is node:
                return INT if self._path(function, scope) == "builtins.range" else None
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._unpacked(elements, elements.index(node), self.tree.parents.get(statement), scope)
        return None

    def _augmented(self, op: ast.operator, kind: Type | None) -> Type | None:
        """What a number or a text is after an augmented assignment, if it was of the same type before."""
        if kind in (INT, FLOAT) and isinstance(op, _EXACT):
            return kind
        return kind if kind == STR and isinstance(op, ast.Add) else None

    def _unpacked(
        self, targets: Sequence[ast.expr], at: int, around: ast.AST | None, scope: Scope
    ) -> Type | None:
        if not isinstance(around, ast.Assign) or any(isinstance(t, ast.Starred) for t in targets):
            return None
        if isinstance(around.value, (ast.Tuple, ast.List)):
            values = around.value.elts
            plain = len(values) == len(targets) and not any(isinstance(v, ast.Starred) for v in values)
            return self.value(values[at], scope) if plain else None
        kind = self.value(around.value, scope)
        if kind is None or kind.path != "builtins.tuple" or len(kind.args) != len(targets):
            return None
        return None if ELLIPSIS in kind.args else kind.args[at]

    # Expressions

    def value(self, node: ast.expr, scope: Scope, depth: int = 0) -> Type | None:
        """The type of an expression, if the program says it; of a variable, if it can't be narrowed."""
        if depth > _DEPTH:
            return None

        def of(inner: ast.expr) -> Type | None:
            return self.value(inner, scope, depth + 1)

        match node:
            case ast.Constant(value=value):
                return constant(value)
            case ast.JoinedStr():
                return STR
            case ast.Name(id=name):
                return self._unnarrowed(self.of(name, self.tree.owner(scope, name)))
            case ast.NamedExpr(value=inner):
                return of(inner)
            case ast.UnaryOp(op=ast.Not()):
                return BOOL
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                kind = of(inner)
                return kind if kind in (INT, FLOAT) else None
            case ast.Compare(ops=ops):
                plain = all(of(part) in (*_NUMBERS, STR) for part in (node.left, *node.comparators))
                return BOOL if plain or all(isinstance(op, _SAME) for op in ops) else None
            case ast.IfExp(body=body, orelse=orelse):
                return agreed([of(body), of(orelse)])
            case ast.BoolOp():
                return self._either(node, [of(part) for part in node.values])
            case ast.BinOp(left, op, right):
                return _arithmetic(of(left), op, of(right))
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return _display(type(node).__name__.lower(), [of(element) for element in elements])
            case ast.Dict(keys=keys, values=values):
                key = _alike([None if k is None else of(k) for k in keys])
                kind = _alike([of(v) for v in values])
                return None if key is None or kind is None else builtin("dict", key, kind)
            case ast.Attribute(value=taken, attr=name):
                kind = of(taken)
                return kind and self._unnarrowed(self.stated.member(kind, name, called=False))
            case ast.Call():
                return self._called(node, scope, depth)
        return None

    def _unnarrowed(self, kind: Type | None) -> Type | None:
        """A type that no test makes another; what is read may have been tested before."""
        return kind if kind is not None and len(kind.members) == 1 and kind != NONE else None

    def _either(self, node: ast.BoolOp, kinds: list[Type | None]) -> Type | None:
        if all(kind == BOOL for kind in kinds):
            return BOOL
        if isinstance(node.op, ast.And) or len(kinds) != 2 or kinds[0] is None or kinds[1] is None:
            return None
        return agreed([without_none(kinds[0]), kinds[1]]) if kinds[0] != NONE else kinds[1]

    def _called(self, node: ast.Call, scope: Scope, depth: int) -> Type | None:
        path = self._path(node.func, scope)
        if path is not None:
            found = self.stated.result(path)
            if found is not None:
                return found
        match node.func:
            case ast.Name(id=name):
                return self._local_result(name, scope)
            case ast.Attribute(value=taken, attr=name):
                kind = self.value(taken, scope, depth + 1)
                return None if kind is None else self.stated.member(kind, name, called=True)
        return None

    def _local_result(self, name: str, scope: Scope) -> Type | None:
        owner = self.tree.owner(scope, name)
        binders = self._binders(name, owner)
        if owner is self.tree.module or len(binders) != 1:
            return None
        node = binders[0].node
        return self._returned(node, owner) if isinstance(node, ast.FunctionDef) else None

    def _path(self, node: ast.expr, scope: Scope) -> str | None:
        """The dotted path of an expression whose first name is the module's."""
        first = first_of(node)
        if not isinstance(first, ast.Name) or self.tree.owner(scope, first.id) is not self.tree.module:
            return None
        return self.stated.project.own.path(node)


def _annotation(node: ast.AST) -> ast.expr | None:
    return node.annotation if isinstance(node, (ast.arg, ast.AnnAssign)) else None


def _contradicts(declared: Type, given: Type | None) -> bool:
    """Whether a value can't be what its variable is declared to be."""
    if given is None:
        return False
    plain = {*_NUMBERS, STR, NONE}
    wide = {FLOAT: {INT, BOOL}, COMPLEX: {FLOAT, INT, BOOL}, INT: {BOOL}}
    allowed = {*declared.members}.union(*(wide.get(member, set()) for member in declared.members))
    if not plain.issuperset(declared.members):
        # A class may be a base, a protocol, or an alias of anything.
        return given == NONE and not declared.is_optional and not _may_be_none(declared)
    return any(member in plain and member not in allowed for member in given.members)


def _may_be_none(kind: Type) -> bool:
    return any(member.path in ("typing.Any", "builtins.object") for member in kind.members)


def _arithmetic(left: Type | None, op: ast.operator, right: Type | None) -> Type | None:
    if left == STR and (isinstance(op, ast.Mod) or (isinstance(op, ast.Add) and right == STR)):
        return STR
    if TENSOR in (left, right) and {left, right} <= {TENSOR, INT, FLOAT} and isinstance(op, _TENSOR_OPS):
        return TENSOR
    if left not in (INT, FLOAT) or right not in (INT, FLOAT):
        return None
    if isinstance(op, ast.Div):
        return FLOAT
    if isinstance(op, _EXACT):
        return FLOAT if FLOAT in (left, right) else INT
    return None


def _alike(kinds: list[Type | None]) -> Type | None:
    found = set(kinds)
    return found.pop() if len(found) == 1 and None not in found else None


def _display(name: str, kinds: list[Type | None]) -> Type | None:
    known = all_known(kinds)
    if not known or NONE in known:
        return None
    if name == "tuple":
        return builtin("tuple", *known)
    kind = _alike(list(kinds))
    return None if kind is None else builtin(name, kind)
