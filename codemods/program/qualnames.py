"""Who may ask what a function makes for its names, which change with the function's own.

Functions, classes and generators made inside a helper are called after it (`__qualname__`, and in another
file `__module__`; of its own generators and coroutines also `__name__`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from codemods.program import nodes
from codemods.program.helpers import Helper
from codemods.program.nodes import called_name
from codemods.program.scopes import Scope, ScopeTree
from codemods.program.words import words

Made = Literal["class", "function", "generator", "called class"]

_PASSED_ON = frozenset(["enumerate", "filter", "map", "reversed", "zip"])
_KEYED = frozenset(["max", "min", "sorted"])
# A coroutine or generator that runs can be met through the one that waits for it.
_WAITING = frozenset(["ag_await", "cr_await", "gi_yieldfrom"])
_CLASS_METHODS = frozenset(["__class_getitem__", "__init_subclass__"])
_UNBOUND = frozenset(["__func__", "__get__", "__wrapped__"])
# What makes a class, or the like, that says where the call stands.
_MAKERS = words("""
    Enum Flag IntEnum IntFlag NamedTuple NewType ParamSpec StrEnum TypeVar TypeVarTuple TypedDict
    make_dataclass namedtuple new_class type
""")


def made_by(tree: ScopeTree, helper: Helper) -> frozenset[Made]:
    """What a helper makes, itself a generator perhaps, that anything else may come to hold."""
    return tree.once(f"made by {id(helper.node)}", lambda: frozenset(_made(tree, helper)))


def _made(tree: ScopeTree, helper: Helper) -> Iterator[Made]:
    if helper.lazy and not _all_used_up(tree, helper.outer, helper.scope.name):
        yield "generator"
    for node in ast.walk(helper.node):
        if isinstance(node, ast.Call) and (name := called_name(node)) in _MAKERS:
            asks = name == "type" and len(node.args) == 1 and not node.keywords
            if not asks:
                yield "called class"
        if type(node).__name__ == "TypeAlias" or getattr(node, "type_params", None):
            yield "called class"
        scope = tree.by_node.get(node)
        if node is helper.node or scope is None:
            continue
        if isinstance(node, ast.ClassDef):
            yield "class"
        elif isinstance(node, ast.GeneratorExp):
            if scope.kind == "generator" and not is_used_up(tree, node, scope.parent or tree.module):
                yield "function"
        elif isinstance(node, ast.Lambda):
            if not _is_key(tree, node, scope.parent or tree.module):
                yield "function"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not _only_runs(tree, scope):
            yield "function"


def _only_runs(tree: ScopeTree, scope: Scope) -> bool:
    """Whether a function is only called, and what its calls make is used up at once."""
    assert isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef))
    assert scope.parent is not None
    owner = tree.owner(scope.parent, scope.name)
    if scope.node.decorator_list or owner is not scope.parent or owner.kind != "function":
        return False
    uses = tree.uses.get((owner, scope.name), ())
    # Some yield may be the function's own.
    yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(scope.node))
    lazy = isinstance(scope.node, ast.AsyncFunctionDef) or yields
    return all(use.call is not None for use in uses) and (not lazy or _all_used_up(tree, owner, scope.name))


def _all_used_up(tree: ScopeTree, owner: Scope, name: str) -> bool:
    return all(
        use.call is not None and is_used_up(tree, use.call, use.scope)
        for use in tree.uses.get((owner, name), ())
    )


def is_used_up(tree: ScopeTree, node: ast.AST, scope: Scope) -> bool:
    """Whether a generator or coroutine goes nowhere but into what runs it to its end or drops it."""
    parent = tree.parents[node]
    if isinstance(parent, (ast.Await, ast.YieldFrom)):
        return not (_WAITING & (tree.attributes.keys() | tree.strings.keys()))
    if isinstance(parent, (ast.For, ast.AsyncFor)):
        return parent.iter is node
    if isinstance(parent, ast.comprehension):
        around = tree.by_node.get(tree.parents[parent])
        # The first iterable of a generator is kept in it.
        return parent.iter is node and around is not None and around.kind == "comprehension"
    if isinstance(parent, ast.Assign):
        return all(isinstance(target, (ast.Tuple, ast.List)) for target in parent.targets)
    if isinstance(parent, ast.Expr):
        return True
    if isinstance(parent, ast.Starred):
        # In a call it becomes a tuple, in a display it is gone through.
        return isinstance(parent.ctx, ast.Load) and not isinstance(tree.parents[parent], ast.Subscript)
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    name = called_name(parent)
    if isinstance(parent.func, ast.Name) and name in _PASSED_ON and tree.is_builtin(scope, name):
        return is_used_up(tree, parent, scope)
    return parent.args == [node] and tree.consumes(scope, parent.func)


def _is_key(tree: ScopeTree, node: ast.Lambda, scope: Scope) -> bool:
    """Whether a lambda is what a builtin sorts by."""
    given = tree.parents[node]
    match given, tree.parents[given]:
        case ast.keyword("key"), ast.Call(ast.Name(name)):
            return name in _KEYED and tree.is_builtin(scope, name)
    return False


def line_asking(tree: ScopeTree, name: str, made: frozenset[Made]) -> int | None:
    """The line of the file at which something of the kinds that are made may be asked for a name."""
    # A generator has its function's name; classes and functions have their own.
    kinds: set[Made] = {"class", "function", "generator"}
    if name != "__qualname__":
        kinds = {"generator"} if name == "__name__" else {"class", "function", "called class"}
    if not made & kinds:
        return None
    if name in tree.strings:
        return tree.strings[name]
    if name == "__qualname__":
        lines = [use.node.lineno for (_, read), uses in tree.uses.items() if read == name for use in uses]
        if lines:
            return lines[0]
    for line, of_class in tree.once("names asked", lambda: _asked(tree)).get(name, ()):
        if made & (kinds - {"function", "generator"} if of_class else kinds):
            return line
    return None


def _asked(tree: ScopeTree) -> dict[str, list[tuple[int, bool]]]:
    """Reads of special names: the line, and whether what is asked is surely a class."""
    found: dict[str, list[tuple[int, bool]]] = {}
    wanted = {"__module__", "__name__", "__qualname__"}
    if not wanted & tree.attributes.keys():
        return found
    for node in nodes.walk(tree.source.tree):
        if isinstance(node, ast.MatchClass):
            for name in wanted.intersection(node.kwd_attrs):
                found.setdefault(name, []).append((node.lineno, False))
        if isinstance(node, ast.Attribute) and node.attr in wanted and not is_only_set(tree, node):
            found.setdefault(node.attr, []).append((node.lineno, _is_class(tree, node.value)))
    return found


def _is_class(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether an expression is surely a class: ``type(x)``, ``x.__class__``, ``cls`` of a class method."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__" and "__class__" not in tree.bound_names
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 1
        shadowed = "type" in tree.bound_names or bool(tree.star_imports)
        return plain and not node.keywords and not shadowed
    if isinstance(node, ast.Name) and isinstance(tree.parents[node], ast.Attribute):
        scope = tree.scope_of(node)
        function = scope.node
        if not isinstance(function, ast.FunctionDef) or scope.parent is None or scope.parent.kind != "class":
            return False
        names = [d.id for d in function.decorator_list if isinstance(d, ast.Name)]
        method = function.name in _CLASS_METHODS or names == ["classmethod"]
        first = [*function.args.posonlyargs, *function.args.args][:1]
        own = [b.node for b in tree.binders.get((scope, node.id), ())]
        return (
            method
            and len(names) == len(function.decorator_list)
            and "classmethod" not in tree.bound_names
            and not _UNBOUND & (tree.attributes.keys() | tree.strings.keys())
            and bool(first)
            and own == [first[0]]
        )
    return False


def is_only_set(tree: ScopeTree, node: ast.Attribute) -> bool:
    """Whether an attribute is given a value, without a look at the one it has."""
    return not isinstance(node.ctx, ast.Load) and not isinstance(tree.parents[node], ast.AugAssign)
