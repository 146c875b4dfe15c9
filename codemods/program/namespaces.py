"""What a file does with namespaces that its own globals may be among: ``globals()``, ``sys.modules``; and the
ways to these, and to the builtins that see variables by name, but their plain names.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.program import nodes
from codemods.program.imports import imported_path
from codemods.program.nodes import called_name, head_of
from codemods.program.scopes import ScopeTree, Use, dotted
from codemods.program.words import words

# Builtins that take elements, here names of modules; and those that look at a value, not into it.
_ELEMENTS = words("""
    all any bool enumerate frozenset iter len list max min set sorted tuple
""")
_GLANCES = frozenset(["bool", "callable", "hash", "id", "isinstance", "print", "repr", "str", "type"])
_WRITES = frozenset(["__contains__", "__delitem__", "__setitem__", "clear", "keys", "update"])


@dataclass(frozen=True, slots=True)
class Asked:
    """The one name that a namespace is asked for; ``computed``: the text is what the name begins with."""

    text: str
    computed: bool


def is_import_argument(tree: ScopeTree, use: Use) -> bool:
    """Whether ``globals()`` or ``locals()`` go to ``__import__``, which asks for the package alone."""
    assert use.call is not None
    match tree.parents[use.call]:
        case ast.Call(ast.Name("__import__"), arguments):
            return use.call in arguments[1:3] and tree.is_builtin(use.scope, "__import__")
    return False


def sees_given_only(call: ast.Call, allowed: int) -> bool:
    """Whether a builtin of `EVALUATORS` is handed what it looks at."""
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return 0 <= allowed < len(call.args) and not starred


def key_asked(tree: ScopeTree, space: ast.expr) -> ast.expr | None:
    """The one name that a namespace is asked for, if it is only read."""
    parent = tree.parents[space]
    match parent:
        case ast.Subscript(ctx=ast.Load()) if parent.value is space:
            return parent.slice
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]) if left is not space:
            return left
        case ast.Attribute(attr="get"):
            call = tree.parents[parent]
            if isinstance(call, ast.Call) and call.func is parent and call.args:
                return call.args[0]
    return None


def name_asked(tree: ScopeTree, space: ast.expr) -> Asked | None:
    """What name a namespace is asked for, if it is only read and the text tells it or its beginning."""
    key = key_asked(tree, space)
    if isinstance(key, ast.Constant):
        return Asked(str(key.value), False)
    head = head_of(key) if key is not None else ""
    return Asked(head, True) if head else None


def heads(tree: ScopeTree) -> frozenset[str]:
    """Beginnings of names for which the file asks its globals, or anything."""
    return tree.once("heads", lambda: frozenset(_heads(tree)))


def _heads(tree: ScopeTree) -> Iterator[str]:
    for use in tree.uses.get((tree.module, "globals"), ()):
        asked = name_asked(tree, use.call) if use.call is not None else None
        if asked is not None and asked.computed:
            yield asked.text
    for name in ("getattr", "hasattr"):
        for use in tree.uses.get((tree.module, name), ()):
            if use.call is not None and len(use.call.args) > 1 and (head := head_of(use.call.args[1])):
                yield head


def is_free_store(tree: ScopeTree, space: ast.expr, *, moves: bool) -> bool:
    """Whether ``globals()`` is given a name that the text tells, which nothing else in it binds or may mean.

    A helper that ``moves`` would be handed no such global.
    """
    parent = tree.parents[space]
    if not isinstance(parent, ast.Subscript) or parent.value is not space or moves:
        return False
    name = parent.slice.value if isinstance(parent.slice, ast.Constant) else None
    if not isinstance(name, str) or isinstance(tree.parents[parent], ast.AugAssign):
        return False
    return (tree.module, name) not in tree.binders and not hasattr(builtins, name)


def _may_list(tree: ScopeTree, node: ast.AST) -> bool:
    """Whether a use of ``sys.modules`` may list the names of this module.

    It can't with a constant key, where only names of modules are looked at, where one is put in or taken
    out, nor where what is taken out is only asked for attributes.
    """
    parent = tree.parents[node]
    match parent:
        case ast.Compare():
            return False
        case ast.For() | ast.comprehension():
            return parent.iter is not node
        case ast.Call(func=ast.Name(id=name)):
            return name not in _ELEMENTS or name in tree.bound_names or bool(tree.star_imports)
        case ast.Call(args=[first, *_]) if first is node:
            return not _is_patched(tree, parent)
        case ast.Subscript():
            plain = not isinstance(parent.ctx, ast.Load) or isinstance(parent.slice, ast.Constant)
            return not plain and not _only_asked(tree, parent, frozenset())
        case ast.Attribute(attr=name):
            return _may_list_by(tree, parent, name)
    return True


def _is_patched(tree: ScopeTree, call: ast.Call) -> bool:
    """Whether a test has entries of a dictionary replaced: by the fixture ``monkeypatch``, or by a patch."""
    scope = tree.scope_of(call)
    match call.func:
        case ast.Attribute(ast.Name("monkeypatch"), "setitem" | "delitem" as name):
            binders = tree.binders.get((tree.owner(scope, "monkeypatch"), "monkeypatch"), [])
            given = bool(binders) and all(isinstance(binder.node, ast.arg) for binder in binders)
            return given and name not in tree.bound_names
    # The patch hands the dictionary to who asks for it.
    around = tree.parents[call]
    unnamed = isinstance(around, ast.withitem) and around.optional_vars is None and not call.keywords
    return unnamed and dotted(tree, scope, call.func) == "unittest.mock.patch.dict"


def _may_list_by(tree: ScopeTree, method: ast.Attribute, name: str) -> bool:
    """The same for a method of ``sys.modules``."""
    call = tree.parents[method]
    if name in _WRITES:
        return False
    if not isinstance(call, ast.Call) or call.func is not method:
        return True
    if name in ("get", "pop", "setdefault") and call.args:
        if isinstance(call.args[0], ast.Constant):
            return False
        return not _only_asked(tree, call, frozenset())
    return name != "values" or not _each_only_asked(tree, call)


def _each_only_asked(tree: ScopeTree, values: ast.expr) -> bool:
    """Whether a loop over modules only asks each for attributes; the modules may be copied first."""
    around = tree.parents[values]
    if isinstance(around, ast.Call) and isinstance(around.func, ast.Name) and around.args == [values]:
        copied = around.func.id in ("list", "set", "tuple") and around.func.id not in tree.bound_names
        return copied and not tree.star_imports and _each_only_asked(tree, around)
    if isinstance(around, (ast.For, ast.comprehension)) and isinstance(around.target, ast.Name):
        return around.iter is values and _variable_only_asked(tree, around.target, frozenset([around]))
    return False


def _only_asked(tree: ScopeTree, node: ast.AST, seen: frozenset[ast.AST]) -> bool:
    """Whether a module is only asked for attributes, tested, or kept in a variable of which that is so."""
    around = tree.parents[node]
    match around:
        case ast.Attribute():
            return around.attr not in ("__dict__", "__dir__", "__getattribute__")
        case ast.Call(func=ast.Name("getattr" | "hasattr"), args=[first, name, *_]):
            plain = isinstance(name, ast.Constant) and name.value != "__dict__"
            return first is node and (plain or bool(head_of(name)))
        case ast.Compare() | ast.If() | ast.Expr() | ast.UnaryOp(ast.Not()):
            return True
        case ast.BoolOp(op=op, values=values):
            # A module is true: `module and x` gives x, any other may give the module.
            dropped = isinstance(op, ast.And) and values[-1] is not node
            return dropped or _only_asked(tree, around, seen)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if first is node:
            return name in _GLANCES and name not in tree.bound_names and not tree.star_imports
        case ast.FormattedValue():
            return True
        case ast.Assign(targets=[ast.Name() as target]):
            return around in seen or _variable_only_asked(tree, target, seen | {around})
        case ast.NamedExpr(target=target):
            plain = around in seen or _variable_only_asked(tree, target, seen | {around})
            return plain and _only_asked(tree, around, seen | {around})
    return False


def _variable_only_asked(tree: ScopeTree, target: ast.Name, seen: frozenset[ast.AST]) -> bool:
    """The same for every use of a variable of a function."""
    owner = tree.owner(tree.scope_of(target), target.id)
    uses = tree.uses.get((owner, target.id), [])
    return owner.kind in ("function", "comprehension") and all(
        use.written and _only_asked(tree, use.node, seen) for use in uses
    )


# Builtins that see variables by name, with the number of arguments up to which they do; -1: always.
EVALUATORS = {"locals": 0, "vars": 0, "dir": 0, "eval": 1, "exec": 1, "globals": -1}
_MODULES = ("builtins", "sys")
_NAMES = frozenset([*EVALUATORS, "modules"])
_BUILTINS = frozenset(["__builtin__", "__builtins__", "builtins"])
# Attributes that are the module of the builtins, or its namespace.
_HOLDING = frozenset(["__builtins__", "builtins", "f_builtins"])
_IMPORTING = frozenset(["__import__", "import_module"])
# What takes a module and the name of one of its attributes, by its own last name.
_BY_NAME = frozenset(["delattr", "getattr", "hasattr", "object", "setattr"])


def evaluating(tree: ScopeTree) -> Iterator[tuple[str, Use]]:
    """Where the file uses `EVALUATORS` by their names."""
    for name in EVALUATORS:
        if (tree.module, name) not in tree.binders:
            yield from ((name, use) for use in tree.uses.get((tree.module, name), ()))


def reaching(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Where it gets at them, or may list the names of its module, in other ways."""
    return tree.once(
        "reaching",
        lambda: [
            (node, path) for node, path in _reached(tree) if path != "sys.modules" or _may_list(tree, node)
        ],
    )


def _reached(tree: ScopeTree) -> list[tuple[ast.AST, str]]:
    """Attributes, imports and looks by names that only a run tells."""
    found = list(_attributes(tree))
    for binders in tree.binders.values():
        for binder in binders:
            if isinstance(binder.node, ast.ImportFrom) and binder.node.module in _MODULES:
                for alias in binder.node.names:
                    if alias.name in _NAMES or alias.name == "*":
                        found.append((binder.node, f"{binder.node.module}.{alias.name}"))
    found += [(node, "builtins") for node in _holders(tree) if not _plain(tree, node)]
    return found


def _attributes(tree: ScopeTree) -> Iterator[tuple[ast.AST, str]]:
    if not _NAMES & tree.attributes.keys():
        return
    for node in nodes.walk(tree.source.tree):
        if isinstance(node, ast.Attribute) and node.attr in _NAMES:
            base = dotted(tree, tree.scope_of(node), node.value)
            if base in _MODULES:
                yield node, f"{base}.{node.attr}"


def _holders(tree: ScopeTree) -> Iterator[ast.expr]:
    """Expressions that give the module of the builtins, or its namespace."""
    for (owner, name), uses in tree.uses.items():
        binders = tree.binders.get((owner, name), ())
        implicit = name == "__builtins__" and not binders
        if implicit or any(imported_path(binder.node, name) in _BUILTINS for binder in binders):
            yield from (use.node for use in uses if use.written)
    attributes, named = tree.attributes.keys(), "builtins" in tree.strings
    if not named and not (_HOLDING | {"__self__"}) & attributes:
        return
    for node in nodes.walk(tree.source.tree):
        match node:
            case ast.Attribute(attr="__self__", value=ast.Name(name) as function):
                if tree.is_builtin(tree.scope_of(function), name):
                    yield node
            case ast.Attribute(attr=name) if name in _HOLDING:
                yield node
            case ast.Call(args=[ast.Constant("builtins"), *_]) if nodes.called_name(node) in _IMPORTING:
                yield node
            case ast.Subscript(slice=ast.Constant("builtins")):
                yield node


def _plain(tree: ScopeTree, node: ast.expr) -> bool:
    """Whether the builtins are only asked for one whose name the text tells, and that sees no variables."""
    parent = tree.parents[node]
    match parent:
        case ast.Attribute(attr="__dict__"):
            return _plain(tree, parent)
        case ast.Attribute(attr=name) if hasattr(dict, name):
            asked = name_asked(tree, node)
            return asked is not None and not asked.computed and asked.text not in _NAMES
        case ast.Attribute(attr=name):
            # One that sees variables is told of as an attribute where the module is told by an import.
            told = dotted(tree, tree.scope_of(parent), node) in _MODULES
            return (name not in _NAMES and not name.startswith("__")) or (told and name in EVALUATORS)
        case ast.Subscript(slice=ast.Constant(str(name))):
            return name not in _NAMES
        case ast.Compare() | ast.Expr():
            return True
        case ast.Call(args=[first, ast.Constant(str(name)), *_]) if first is node:
            return nodes.called_name(parent) in _BY_NAME and name not in _NAMES
        case ast.Call(ast.Name("getattr"), [first, _, *_], []) if first is node:
            return _only_identified(tree, parent)
        case ast.Call(args=[first, *_]) if first is node:
            return nodes.called_name(parent) in ("hasattr", "isinstance", "dir")
    return False


def _only_identified(tree: ScopeTree, call: ast.Call) -> bool:
    """Whether what ``getattr`` gives is only asked whether it is some object, which does nothing with it."""
    around = tree.parents[call]
    return (
        isinstance(around, ast.Compare)
        and all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in around.ops)
        and tree.is_builtin(tree.scope_of(call), "getattr")
        and not any(isinstance(argument, ast.Starred) for argument in call.args)
    )


def asks_itself(node: ast.Call) -> bool:
    """Whether a call is given the file's own name, or opens it: ``import_module(__name__)``."""
    name = called_name(node)
    match node:
        case ast.Call(args=[ast.Name("__name__"), *_]):
            return name in ("__import__", "import_module", "reload", "run_module")
        case ast.Call(args=[ast.Name("__file__"), *_]):
            return name in ("open", "getline", "getlines", "run_path", "FileInput", "input")
        case ast.Call(ast.Attribute(ast.Call(args=given))) if name in ("open", "read_bytes", "read_text"):
            return any(isinstance(argument, ast.Name) and argument.id == "__file__" for argument in given)
    return False
