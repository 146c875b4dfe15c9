"""Detectors of what a file's text does not settle: a word or a form is enough, whatever is done with it.

Each yields places and what is there; the user may accept what they stand for.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from codemods.program import nodes
from codemods.program.lifting import Analysis, Helper, Lifting
from codemods.program.namespaces import EVALUATORS, evaluating, reaching, sees_given_only
from codemods.program.nodes import DEFINITIONS, called
from codemods.program.scopes import Scope, ScopeTree, Use, dotted
from codemods.program.source import words
from codemods.program.surroundings import Surroundings
from codemods.rewrites.refusals import Refusals, refuse
from codemods.rewrites.rules.definition import defined_alike, evaluated_annotations

Found = Iterator[tuple[int | ast.AST, str]]
Watched = tuple[int | ast.AST, str, str | None]
"""A place, what is there, and the name of the object that it is about; None: any object."""

_WORDS = words("""
    StackSummary TracebackException __closure__ __code__ _current_frames _getframe _getframemodulename ag_code
    ag_frame co_cellvars co_code co_consts co_freevars co_name co_names co_qualname co_varnames cr_code
    cr_frame currentframe extract_stack extract_tb f_back f_builtins f_code f_globals f_locals f_trace
    findCaller get_referrers getargvalues getasyncgenlocals getclosurevars getcoroutinelocals getframeinfo
    getgeneratorlocals getinnerframes getouterframes getsource getsourcelines gi_code gi_frame setprofile
    settrace tb_frame
""")
# Names that other modules use for something else.
_OF_MODULE = {"monitoring": "sys", "stack": "inspect", "trace": "inspect"}
# What compiles a function from its source or bytecode, with the functions in it.
_COMPILERS = tuple(
    words("numba. taichi. tensorflow.function torch.jit.ignore torch.jit.script torch.jit.trace triton.")
)
_MADE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.GeneratorExp, ast.Lambda)
# What makes a class, or the like, that says where the call stands.
_MAKERS = words("""
    Enum Flag IntEnum IntFlag NamedTuple NewType ParamSpec StrEnum TypeVar TypeVarTuple TypedDict
    make_dataclass namedtuple new_class type
""")
_SIMPLE = (ast.AnnAssign, ast.Assign, ast.Expr)
# What counts references, or lists objects.
_COUNTS = ("get_objects", "get_referents", "getrefcount")


def no_dynamic_names(within: Analysis | Lifting, helper: Helper, *, early: bool = True) -> Refusals:
    """Nothing asks for variables of the outermost function, or of the module, by name, or deletes
    definitions of the module as one does that keeps its names tidy.

    An ``early`` call of ``locals()`` sees none that a lift changes.
    """
    tree = within.tree
    function = helper.outermost
    found: list[tuple[ast.AST | int, str]] = [
        (use.node, f"{name} is used here")
        for name, use in evaluating(tree)
        if _sees(tree, function, name, use) and not (early and is_early(tree, function, use))
    ]
    found += [(node, f"{path} is used here") for node, path in reaching(tree)]
    found += [
        (binder.line, f"{name} is deleted here")
        for (owner, name), binders in tree.binders.items()
        if owner is tree.module and any(isinstance(b.node, DEFINITIONS) for b in binders)
        for binder in binders
        if binder.deletes
    ]
    for at, what in found:
        yield refuse("dynamic-names", at, what)


def _sees(tree: ScopeTree, function: Scope, name: str, use: Use) -> bool:
    """Tell whether a builtin may see variables of a function, or list those of the module."""
    call, around = use.call, tree.parents.get(use.call or use.node)
    # What is lifted has a name that nothing else spells.
    looks_up = isinstance(around, ast.Subscript) and around.value is call and isinstance(around.ctx, ast.Load)
    if call is None or name == "globals":
        return call is None or not looks_up
    near = use.scope.inside(function) or use.scope.space is tree.module
    return near and not sees_given_only(call, EVALUATORS[name])


def is_early(tree: ScopeTree, function: Scope, use: Use) -> bool:
    """Tell whether ``locals()`` stands before all that a lift changes: only assignments and expressions
    without loops and functions stand before it.

    Parameters keep their places in the dictionary. The others are followed there by those that nested
    functions capture, so of all of them one may be bound.
    """
    node = function.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or use.node.id != "locals":
        return False
    bound = set[str]()
    for statement in node.body if use.scope is function and not function.free else ():
        parts = set(nodes.walk(statement))
        if not isinstance(statement, _SIMPLE) or any(part in tree.by_node for part in parts):
            return False
        if use.call in parts:
            return len(bound) < 2
        bound |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return False


def nothing_looks(within: Analysis | Lifting, helper: Helper) -> Refusals:
    """The file has none of the words by which programs look at frames, code, closures or source text."""
    for at, what in within.tree.once("introspection", lambda: list(_looking(within.tree))):
        yield refuse("introspection", at, f"{what} is used here")


def _looking(tree: ScopeTree) -> Found:
    for word in sorted(_WORDS & (tree.attributes.keys() | tree.strings.keys())):
        yield tree.attributes.get(word) or tree.strings[word], word
    for node in tree.nodes:
        match node:
            case ast.ImportFrom(module=str() as module, names=names):
                for alias in names:
                    if alias.name in _WORDS or _OF_MODULE.get(alias.name) == module or module == "dis":
                        yield node, f"{module}.{alias.name}"
            case ast.Attribute(attr=name, value=value):
                base = dotted(tree, tree.scope_of(node), value)
                if base is not None and (base == "dis" or _OF_MODULE.get(name) == base):
                    yield node, f"{base}.{name}"


def compiling(lifting: Lifting, helper: Helper) -> Found:
    """Find where the helper, or a function around it, is handed to what reads its source or bytecode."""
    tree = lifting.tree
    handed = [
        (scope.parent or tree.module, called(decorator), decorator)
        for scope in helper.scope.ancestors()
        for decorator in getattr(scope.node, "decorator_list", [])
    ]
    for key in ((tree.module, helper.root.name), (helper.outer, helper.scope.name)):
        for use in tree.uses.get(key, ()):
            call = tree.parents.get(use.node)
            if isinstance(call, ast.Call) and call.func is not use.node:
                handed.append((use.scope, call.func, call))
    for scope, function, node in handed:
        path = dotted(tree, scope, function) or ""
        if path.startswith(_COMPILERS):
            yield node, f"{path} compiles it from its source here"


def not_looked_at(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing in the file looks at functions from within, compiles this helper from its source, or asks for
    names of what it makes.
    """
    tree = lifting.tree
    yield from nothing_looks(lifting, helper)
    found = list(compiling(lifting, helper))
    asked = ["__qualname__"] if helper.lazy or makes_definitions(helper) else []
    asked += ["__globals__", "__module__"] if asked and helper in lifting.foreign else []
    asked += ["__name__"] if helper.lazy else []
    for name in asked:
        line = tree.attributes.get(name) or tree.strings.get(name)
        line = line if name != "__name__" else tree.once("names asked", lambda: _name_asked(tree))
        if line is not None or (name != "__name__" and name in tree.names):
            what = f"{name} is read here, which what {helper.name} makes has too"
            found.append((line or helper.node.lineno, what))
    if ">>>" in (ast.get_docstring(helper.node, clean=False) or "") and helper.outer.kind == "function":
        found.append((helper.node.lineno, f"the docstring of {helper.name} has doctest examples"))
    for at, what in found:
        yield refuse("introspection", at, what)


def _name_asked(tree: ScopeTree) -> int | None:
    """The line at which the name is asked for of what is not written as a class: ``type(x).__name__``."""
    for node in tree.nodes if "__name__" in tree.attributes else ():
        match node:
            case ast.Attribute(ast.Call(ast.Name("type")) | ast.Attribute(attr="__class__"), "__name__"):
                continue
            case ast.Attribute(attr="__name__"):
                return node.lineno
    return tree.strings.get("__name__")


def makes_definitions(helper: Helper) -> bool:
    """Tell whether a helper makes functions, classes or generators, or calls what may make some
    (`namedtuple`).
    """
    return any(
        isinstance(node, _MADE) or (isinstance(node, ast.Call) and nodes.called_name(node) in _MAKERS)
        for node in ast.walk(helper.node)
        if node is not helper.node
    )


def lifetimes_unseen(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing sees how long what the helper is passed is held, or by how many."""
    tree, names = lifting.tree, {name for name, _ in lifting.needs[helper]}
    frame = helper.outermost
    found = tree.once(f"watched {id(frame)}", lambda: list(watched(tree, frame)))
    let_go = tree.once(f"let go {id(frame)}", lambda: list(_let_go(frame)))
    late = (each for each in let_go if each[2] in names and _may_follow(frame, helper, each[0].lineno))
    yield from not_released((*found, *late) if names else (), names)


def not_released(found: Iterable[Watched], names: Collection[str]) -> Refusals:
    """Of what is found to be let go, or counted, nothing has one of some names; nor is it any object."""
    for at, what, name in found:
        if name is None or name in names:
            yield refuse("lifetimes", at, what)


def deleted_in(node: ast.AST) -> Iterator[Watched]:
    """Find where a part of a function deletes variables."""
    for inner in nodes.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Del):
            yield inner, f"{inner.id} is deleted here", inner.id


def _may_follow(frame: Scope, helper: Helper, line: int) -> bool:
    """Tell whether a line may run after a call of the helper: it stands below the helper, or in a loop with
    it.
    """
    start = helper.node.lineno
    return line > start or any(
        isinstance(node, (ast.For, ast.While)) and node.lineno < line and start <= (node.end_lineno or 0)
        for node in nodes.walk(frame.node)
    )


def watched(tree: ScopeTree, frame: Scope) -> Iterator[Watched]:
    """Places of a file, or a function of it, that see when objects are destroyed, or how often they are
    referred to; the object, if it is a certain one.
    """
    for name in _COUNTS:
        if name in tree.attributes or name in tree.names:
            yield tree.attributes.get(name, 1), f"{name} is used here", None
    for (owner, name), binders in tree.binders.items():
        if name == "__del__" and owner.kind == "class":
            yield binders[0].line, "a class of the file has a __del__", None
    weak = "weakref" in tree.source.text
    for node in nodes.walk(frame.node):
        match node:
            case ast.Name() if weak and (dotted(tree, frame, node) or "").partition(".")[0] == "weakref":
                yield node, "a weak reference is made here", None
            case ast.Call(ast.Attribute(ast.Name(name), "resize"), keywords=given):
                if all(keyword.arg != "refcheck" for keyword in given):
                    yield node, f"{name}.resize counts references to {name}", name


def _let_go(frame: Scope) -> Iterator[tuple[ast.stmt, str, str]]:
    """Find names that a function deletes or binds to None, where it handles exceptions."""
    walked = nodes.walk(frame.node)
    if any(isinstance(node, ast.ExceptHandler) for node in walked):
        for node in walked:
            match node:
                case ast.Delete(targets) | ast.Assign(targets, ast.Constant(None)):
                    names = [target.id for target in targets if isinstance(target, ast.Name)]
                    what = "is let go here, while an exception may be kept"
                    yield from ((node, f"{name} {what}", name) for name in names)


def seen_from_outside(around: Surroundings, tree: ScopeTree, helper: Helper, *, moves: bool) -> Refusals:
    """Why the module can't have a name more, whichever it is; ``moves``: the helper leaves it."""
    # What moves is imported back at the head of the file; what is evaluated is evaluated at its end.
    evaluated = moves or helper.node.decorator_list or evaluated_annotations(tree, helper)
    line = around.late_star(0 if evaluated else helper.top.lineno)
    named = around.marked("pickles", ()) if moves and makes_definitions(helper) else None
    inner = any(isinstance(n, DEFINITIONS) and n is not helper.node for n in ast.walk(helper.node))
    asked = around.marked("annotations", ()) if moves and inner else None
    look, what = around.look(), f"{helper.name} makes a class that is told its module, and {named}"
    for code, at, told in (
        ("dynamic-names", helper.node.lineno, look and str(look)),
        ("star-import", line or 0, line and "this star import may bring any names"),
        ("introspection", helper.node.lineno, named and what),
        ("annotations-evaluated", helper.node.lineno, asked and f"{asked} of what {helper.name} makes"),
    ):
        if told:
            yield refuse(code, at, told)
    yield from defined_alike(around, tree, helper)
