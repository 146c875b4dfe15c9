"""What becomes of an expression that gives a frame, a code object or what is said of one, or of its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from codemods.program.namespaces import name_asked
from codemods.program.nodes import texts_of
from codemods.program.scopes import Scope, ScopeTree, dotted

# What may be handed a frame: it looks at the file and line alone, or prints a traceback.
_TAKERS = ("builtins.bool", "inspect.getframeinfo", "inspect.getmodule", "traceback.")
_READ_ONLY = re.compile(
    r"co_\w+|(ag|cr|gi)_(code|frame)|f_(back|builtins|code|globals|locals)|tb_frame|__closure__"
)
_SAVED = frozenset(["sys.getprofile", "sys.gettrace", "threading.getprofile", "threading.gettrace"])


def is_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "__code__"


def is_signature(tree: ScopeTree, node: ast.AST) -> bool:
    """Whether an expression is ``X.__code__.co_varnames[:X.__code__.co_argcount]`` up to the brackets."""
    if not isinstance(node, ast.Attribute) or node.attr != "co_varnames" or not is_code(node.value):
        return False
    match tree.parents.get(node):
        case ast.Subscript(taken, ast.Slice(None, ast.Attribute(code, "co_argcount"), None)):
            return taken is node and ast.dump(code) == ast.dump(node.value)
    return False


def is_lookup(tree: ScopeTree, node: ast.Attribute) -> bool:
    """Whether a frame's globals are only asked for a name that the text gives."""
    parent = tree.parents[node]
    if isinstance(parent, ast.Compare):
        return all(isinstance(operator, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for operator in parent.ops)
    asked = name_asked(tree, node)
    return asked is not None and not asked.computed


def stays(tree: ScopeTree, node: ast.expr, scope: Scope, seen: frozenset[str]) -> bool:
    """Whether a frame stays in this function: it is asked for attributes, compared, kept in a variable."""
    parent = tree.parents.get(node)
    match parent:
        case ast.Attribute() | ast.Compare() | ast.BoolOp() | ast.If() | ast.While() | ast.Assert():
            return True
        case ast.UnaryOp(ast.Not()) | ast.Expr() | ast.Delete():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return _kept(tree, name, scope, seen, stays)
        case ast.Call() | ast.keyword():
            call = tree.parents[parent] if isinstance(parent, ast.keyword) else parent
            if not isinstance(call, ast.Call) or call.func is node:
                return False
            path = dotted(tree, scope, call.func) or ""
            return path.startswith(_TAKERS)
    return False


Question = Callable[[ScopeTree, ast.expr, Scope, frozenset[str]], bool]


def _kept(tree: ScopeTree, name: str, scope: Scope, seen: frozenset[str], asked: Question) -> bool:
    """The same for every use of the variable of a function that something is kept in."""
    owner = tree.owner(scope, name)
    uses = (use for use in tree.uses.get((owner, name), []) if use.written and name not in seen)
    return owner.kind in ("function", "lambda") and all(
        use.call is None and asked(tree, use.node, use.scope, seen | {name}) for use in uses
    )


def is_read_only(tree: ScopeTree, node: ast.Attribute) -> bool:
    """Whether an attribute is given a value that no frame, code object or generator can be given.

    So it is another object's; an augmented assignment reads it first.
    """
    return is_only_set(tree, node) and _READ_ONLY.fullmatch(node.attr) is not None


def is_only_set(tree: ScopeTree, node: ast.Attribute) -> bool:
    """Whether an attribute is given a value, without a look at the one it has."""
    return not isinstance(node.ctx, ast.Load) and not isinstance(tree.parents[node], ast.AugAssign)


def names_compared(tree: ScopeTree, node: ast.expr) -> frozenset[str] | None:
    """The texts that a name is compared with as a whole; None if something else is done with it."""
    match tree.parents[node]:
        case ast.Compare(left, [ast.Eq() | ast.NotEq()], [right]):
            texts = texts_of([right if left is node else left])
        case ast.Compare(_, [ast.In() | ast.NotIn()], [ast.Tuple(parts) | ast.List(parts) | ast.Set(parts)]):
            texts = texts_of(parts)
        case _:
            return None
    return None if texts is None else frozenset(texts)


def is_code_of_function(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether a frame's code is only compared with that of functions that the text gives."""
    around = tree.parents[node]
    return (
        isinstance(around, ast.Compare)
        and all(isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)) for op in around.ops)
        and all(other is node or is_code(other) for other in (around.left, *around.comparators))
    )


def restores(tree: ScopeTree, node: ast.Attribute, scope: Scope) -> bool:
    """Whether ``sys.settrace`` takes the tracer off, or puts back one that was there."""
    match tree.parents[node]:
        case ast.Call(function, [ast.Constant(None)], []):
            return function is node
        case ast.Call(function, [ast.Name(name)], []) if function is node:
            owner = tree.owner(scope, name)
            values = tree.values(owner, name)
            return owner.kind == "function" and bool(values) and all(_saves(tree, v, owner) for v in values)
    return False


def _saves(tree: ScopeTree, value: ast.expr | None, scope: Scope) -> bool:
    return isinstance(value, ast.Call) and dotted(tree, scope, value.func) in _SAVED


def is_place(tree: ScopeTree, node: ast.expr, scope: Scope, seen: frozenset[str] = frozenset()) -> bool:
    """Whether what ``getframeinfo`` gives, or an entry of ``stack()``, is asked for file and line."""
    parent = tree.parents[node]
    match parent:
        case ast.Attribute(attr="filename" | "lineno"):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            alone = len(tree.binders.get((tree.owner(scope, name), name), ())) == 1
            return alone and _kept(tree, name, scope, seen, is_place)
    return False


def is_printed(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether an f-string around an expression prints the text of it, or of one that holds it."""
    inner: ast.AST = node
    around = tree.parents.get(node)
    while isinstance(around, (ast.expr, ast.keyword, ast.comprehension)):
        if isinstance(around, ast.FormattedValue) and inner is around.value:
            end = tree.source.span(around.value)[1]
            if tree.source.text[end:].lstrip(" \t\f\r\n)").startswith("="):
                return True
        inner, around = around, tree.parents.get(around)
    return False
