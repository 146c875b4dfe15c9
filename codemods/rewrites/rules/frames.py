"""What the file sees of frames, code objects, closures and source text, in which a lift shows.

A lift changes the code of the helper, of the functions around it, and of those that call it; in their frames
it changes which names are local. A frame's globals, its file and how frames follow each other stay, and so
do names and positional parameters of functions that are values. A helper is no value: nobody can ask it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from codemods.program import nodes
from codemods.program.annotations import own_package
from codemods.program.frames import (
    is_code,
    is_code_of_function,
    is_lookup,
    is_place,
    is_read_only,
    is_signature,
    names_compared,
    restores,
    stays,
)
from codemods.program.helpers import Helper
from codemods.program.imports import imported_path
from codemods.program.lifting import Analysis, Lifting
from codemods.program.qualnames import asks_by_name, is_handed, line_asking, made_by
from codemods.program.scopes import Scope, ScopeTree, dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, example, refuse

Shows = Callable[[Lifting, Helper], bool]
"""Whether a look sees what the lift of a helper changes."""

# What gives a frame.
_FRAMES = frozenset(["ag_frame", "cr_frame", "f_back", "gi_frame", "tb_frame"])
_FRAME_CALLS = frozenset(["_getframe", "currentframe"])
# Looks under names that other modules may use for something else.
_OF_MODULE = {
    "monitoring": "sys",
    "stack": "inspect",
    "trace": "inspect",
    **dict.fromkeys(
        words("Bytecode code_info dis disassemble disco distb get_instructions show_code"), "dis"
    ),
}
# What a lift changes, or what sees everything.
_DATA = words("""
    _current_frames ag_code co_cellvars co_code co_consts co_freevars co_name co_names co_qualname co_varnames
    cr_code f_locals f_trace findCaller get_referrers getargvalues getasyncgenlocals getclosurevars
    getcoroutinelocals getframeinfo getgeneratorlocals getinnerframes getouterframes getsource getsourcelines
    gi_code setprofile settrace
""")
# What takes the stack or a traceback apart into entries that have the names of functions.
_ENTRIES = frozenset(["StackSummary", "TracebackException", "extract_stack", "extract_tb"])
_PRINTS_ENTRIES = frozenset(["traceback.format_list", "traceback.print_list"])
_NAMES = (
    _DATA
    | _ENTRIES
    | _FRAMES
    | _FRAME_CALLS
    | {"__closure__", "__code__", "_getframemodulename", "f_builtins", "f_code", "f_globals"}
)
# Read of a function that is a value, or of any frame, these stay.
_OF_FUNCTION = words(
    "co_argcount co_filename co_firstlineno co_flags co_kwonlyargcount co_name co_posonlyargcount"
)
_OF_FRAME = frozenset(["co_argcount", "co_filename", "co_firstlineno", "co_posonlyargcount"])
_ASKS_FUNCTION = frozenset(["getclosurevars", "getsource", "getsourcelines"])
_BY_NAME = frozenset(["__getattribute__", "attrgetter", "getattr_static", "methodcaller"])
# Modules that have what is named above.
_LOOKING = frozenset(["dis", "gc", "inspect", "sys", "threading", "traceback"])
# Packages that hold no function of the file.
_ELSEWHERE = sys.stdlib_module_names | {"numpy", "torch"}

example(
    "introspection",
    """
 import sys
 def caller():
-    return sys._getframe(1).f_code.co_name
+    return sys._getframe(1).f_globals['__name__']
+def arity(f):
+    return f.__code__.co_argcount
 def outer():
     def h():
-        return caller()
+        return caller(), arity(outer)
     return h()
""",
)


@dataclass(frozen=True, slots=True)
class Sight:
    """One place that looks at what a lift may change, and for which helpers that shows."""

    line: int
    what: str
    shows: Shows


def not_looked_at(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing in the file looks at what this helper's lift changes."""
    tree = lifting.tree
    asked = {"__name__", "__qualname__"} | ({"__module__"} if helper in lifting.foreign else set())
    made = made_by(tree, helper)
    for name in sorted(asked):
        if (line := line_asking(tree, name, made)) is not None:
            what = f"{name} is read here, which what {helper.name} makes has too"
            yield refuse("introspection", line, what)
    for sight in tree.once("sights", lambda: list(_sights(tree))):
        if sight.shows(lifting, helper):
            yield refuse("introspection", sight.line, f"{sight.what} here")


def nothing_looks(within: Analysis | Lifting, helper: Helper) -> Refusals:
    """The file never looks at frames, code objects or source text at all; for rewrites that add frames."""
    tree = within.tree
    for name in sorted(_NAMES & (tree.attributes.keys() | tree.strings.keys())):
        line = tree.attributes.get(name) or tree.strings[name]
        yield refuse("introspection", line, f"{name} is used here")
    for sight in tree.once("sights", lambda: list(_sights(tree))):
        yield refuse("introspection", sight.line, f"{sight.what} here")
    for line, name in _imported(tree, _NAMES):
        yield refuse("introspection", line, f"{name} is used here")


def _always(lifting: Lifting, helper: Helper) -> bool:
    return True


def _moves(lifting: Lifting, helper: Helper) -> bool:
    return helper in lifting.foreign


def _is_named(names: frozenset[str], lifting: Lifting, helper: Helper) -> bool:
    # What moves may be given another name there.
    return helper.name in names or helper in lifting.foreign


def _touches(scope: Scope, lifting: Lifting, helper: Helper) -> bool:
    """Whether the lift changes code of a scope or of one in it."""
    return helper.scope.inside(scope) or any(use.scope.inside(scope) for use in lifting.analysis.uses(helper))


def _changes_closures(lifting: Lifting, helper: Helper) -> bool:
    """Whether some function that stays captures something else after the lift."""
    # What moves is handed globals, which the functions in it then capture.
    if helper in lifting.foreign and any(inner.deferred for inner in helper.scope.below()):
        return True
    for scope in helper.outer.ancestors():
        if scope.kind in ("function", "lambda") and scope.free and not _is_lifted(lifting, scope):
            return True
    for use in lifting.analysis.uses(helper):
        for scope in use.scope.ancestors():
            if scope is helper.outer:
                break
            if scope.deferred and not _is_lifted(lifting, scope):
                return True
            if _is_lifted(lifting, scope):
                break
    return False


def _changes_values(lifting: Lifting, helper: Helper) -> bool:
    """Whether the lift changes the code of a function that stays and that the file hands around."""
    changed = {scope for scope in (*_around(lifting, helper), *helper.scope.below()) if scope.deferred}
    return any(is_handed(lifting.tree, scope) for scope in changed if not _is_lifted(lifting, scope))


def _changes_texts(lifting: Lifting, helper: Helper) -> bool:
    """The same for the text of functions, and of the classes and the module that they are in."""
    tree = lifting.tree
    module = {"getmodule", "import_module", "modules"} & (tree.attributes.keys() | tree.bound_names)
    in_class = any(scope.kind == "class" for scope in _around(lifting, helper))
    return bool(module) or in_class or _changes_values(lifting, helper)


def _around(lifting: Lifting, helper: Helper) -> set[Scope]:
    """The scopes around a helper and around its calls."""
    places = [helper.outer, *(use.scope for use in lifting.analysis.uses(helper))]
    return {scope for place in places for scope in place.ancestors()}


def _is_lifted(lifting: Lifting, scope: Scope) -> bool:
    return lifting.analysis.by_scope.get(scope) in lifting.candidates


def _sights(tree: ScopeTree) -> Iterator[Sight]:
    """All places of the file that look at something that some lift may change."""
    present = _NAMES & (tree.attributes.keys() | tree.strings.keys())
    listed = _OF_MODULE.keys() & tree.attributes.keys()
    if present or listed:
        yield from _attributes(tree, present)
        yield from _strings(tree, present)
    for line, name in _imported(tree, _NAMES | _OF_MODULE.keys()):
        last = name.rpartition(".")[2]
        if last not in _FRAME_CALLS:
            yield Sight(line, f"{name} is imported", _reach(last))
    for (owner, name), uses in tree.uses.items():
        binders = tree.binders.get((owner, name), ()) if owner.kind == "module" else ()
        if {imported_path(b.node, name) for b in binders} & {"inspect.currentframe", "sys._getframe"}:
            for use in uses:
                if use.call is None or not stays(tree, use.call, use.scope, frozenset()):
                    yield Sight(use.node.lineno, f"{name} is used", _always)


def _imported(tree: ScopeTree, names: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Some names that the file imports from the modules that have them."""
    for binders in tree.binders.values():
        for binder in binders:
            node = binder.node
            if isinstance(node, ast.ImportFrom) and node.module in _LOOKING:
                for alias in node.names:
                    if alias.name in names:
                        yield node.lineno, f"{node.module}.{alias.name}"


def _attributes(tree: ScopeTree, present: frozenset[str]) -> Iterator[Sight]:
    for node in nodes.walk(tree.source.tree):
        if isinstance(node, ast.MatchClass) and present.intersection(node.kwd_attrs):
            yield Sight(node.lineno, "an attribute of a frame or of code is matched", _always)
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr in _OF_MODULE:
            module = _OF_MODULE[node.attr]
            if dotted(tree, tree.scope_of(node), node.value) == module:
                place = module == "inspect" and _is_place_of_entry(tree, node, tree.scope_of(node))
                yield Sight(node.lineno, f"{module}.{node.attr} is used", _moves if place else _always)
        elif node.attr in present:
            shows = _judged(tree, node, tree.scope_of(node))
            if shows is not None:
                yield Sight(node.lineno, f"{node.attr} is used", shows)


def _is_place_of_entry(tree: ScopeTree, node: ast.Attribute, scope: Scope) -> bool:
    """Whether one entry of ``inspect.stack()``, or of a traceback, is asked for its file or line."""
    entry = tree.parents[tree.parents[node]]
    match entry:
        case ast.Subscript(ast.Call(function), index):
            return function is node and not isinstance(index, ast.Slice) and is_place(tree, entry, scope)
    return False


def _judged(tree: ScopeTree, node: ast.Attribute, scope: Scope) -> Shows | None:
    """For which helpers one attribute sees something of a lift; None for none."""
    name, parent = node.attr, tree.parents[node]
    above = parent.attr if isinstance(parent, ast.Attribute) else None
    if not isinstance(node.ctx, ast.Load):
        return None if is_read_only(tree, node) else _always
    if name in ("setprofile", "settrace") and restores(tree, node, scope):
        return None
    if name == "co_name" and (names := names_compared(tree, node)) is not None:
        return partial(_is_named, names)
    if name == "__code__" and (above in _OF_FUNCTION or is_signature(tree, parent)):
        return None
    if is_code(node.value) and (name == "co_name" or is_signature(tree, node)):
        return None
    asked = _asked(tree, node, scope)
    if asked is tree.module:
        return None
    if name == "__closure__":
        return _changes_closures
    if asked is not None:
        return partial(_touches, asked)
    if name in _ASKS_FUNCTION:
        return _reach(name)
    if name == "__code__" or (name.startswith("co_") and not _gives_code(tree)):
        return _changes_values
    if name == "f_code":
        if above == "co_name" and isinstance(parent, ast.Attribute):
            names = names_compared(tree, parent)
            return _always if names is None else partial(_is_named, names)
        if is_code_of_function(tree, node):
            return None
        return (_moves if above == "co_filename" else None) if above in _OF_FRAME else _always
    if name == "f_globals":
        return _moves if is_lookup(tree, node) else _always
    if name == "f_builtins":
        return None
    if name == "_getframemodulename":
        return _moves
    if name in _ENTRIES:
        return _judged_entries(tree, node, scope)
    if name == "getframeinfo" and isinstance(parent, ast.Call) and parent.func is node:
        return _moves if is_place(tree, parent, scope) else _always
    if name in _FRAMES and stays(tree, node, scope, frozenset()):
        return None
    if name in _FRAME_CALLS and isinstance(parent, ast.Call) and parent.func is node:
        return None if stays(tree, parent, scope, frozenset()) else _always
    return _always


def _judged_entries(tree: ScopeTree, node: ast.Attribute, scope: Scope) -> Shows | None:
    """What the entries of a stack or a traceback are asked for: to print them, and the line of one, is no
    question for names.
    """
    if node.attr == "TracebackException":
        return _always if "stack" in tree.attributes else None
    call = tree.parents[node]
    around = tree.parents[call]
    if isinstance(call, ast.Call) and call.func is node and node.attr != "StackSummary":
        if isinstance(around, ast.Call) and dotted(tree, scope, around.func) in _PRINTS_ENTRIES:
            return None
        if _is_place_of_entry(tree, node, scope):
            return _moves
    return _always


def _reach(name: str) -> Shows:
    """For which helpers a function of ``inspect`` matters, whatever it is given."""
    if name not in _ASKS_FUNCTION:
        return _always
    return _changes_values if name == "getclosurevars" else _changes_texts


def _gives_code(tree: ScopeTree) -> bool:
    """Whether code objects may come from frames here, and not only from functions."""
    return bool({"ag_code", "cr_code", "f_code", "gi_code"} & (tree.attributes.keys() | tree.strings.keys()))


def _asked(tree: ScopeTree, node: ast.Attribute, scope: Scope) -> Scope | None:
    """The function that is asked for its code, where the text says which; the module for one of another
    file.
    """
    subject: ast.expr | None = None
    if node.attr in ("__code__", "__closure__"):
        subject = node.value
    elif node.attr in _ASKS_FUNCTION:
        call = tree.parents[node]
        plain = isinstance(call, ast.Call) and call.func is node and len(call.args) == 1
        subject = call.args[0] if plain and isinstance(call, ast.Call) else None
    elif node.attr.startswith("co_") and is_code(node.value) and isinstance(node.value, ast.Attribute):
        subject = node.value.value
    if subject is None:
        return None
    if isinstance(subject, ast.Name) and tree.owner(scope, subject.id) is tree.module:
        binders = tree.binders.get((tree.module, subject.id), [])
        made = tree.by_node.get(binders[0].node) if len(binders) == 1 else None
        if made is not None and not getattr(made.node, "decorator_list", ()):
            return made
    first = (dotted(tree, scope, subject) or "").partition(".")[0]
    foreign = first in _ELSEWHERE and first != own_package(tree)
    return tree.module if foreign else None


def _strings(tree: ScopeTree, present: frozenset[str]) -> Iterator[Sight]:
    """Attributes that may be asked for by name."""
    named = present & tree.strings.keys()
    if not named:
        return
    dynamic = asks_by_name(tree) or bool(_BY_NAME & (tree.attributes.keys() | tree.bound_names))
    for node in nodes.walk(tree.source.tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in named):
            continue
        call = tree.parents[node]
        function = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        asked = isinstance(call, ast.Call) and len(call.args) > 1 and call.args[1] is node
        if asked and function == "hasattr":
            continue
        if isinstance(call, ast.Subscript) and isinstance(call.ctx, ast.Store):
            continue
        if (
            dynamic
            or (asked and function in ("getattr", "setattr", "delattr"))
            or isinstance(call, ast.MatchClass)
        ):
            shows = _changes_values if node.value == "__code__" else _always
            yield Sight(node.lineno, f"{node.value} is named", shows)
