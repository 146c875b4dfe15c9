"""Whether a loop can become a method, and what must be handed in and back."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from codemods.program import nodes
from codemods.program.globals import globals_of
from codemods.program.helpers import Helper, is_generator, own_nodes
from codemods.program.imports import imported_path
from codemods.program.lifting import Lifting
from codemods.program.loops import LoopFlow, Parts, private_names
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, first, refuse
from codemods.rewrites.rules import dynamic, introspection, moving

# What tells how deep the stack is.
_COUNTS = ("RecursionError", "getrecursionlimit", "setrecursionlimit")
# What tells where a function was made.
_ORIGIN = ("__globals__", "__module__", "__qualname__")
_MADE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class LoopDecision:
    """Names that the method gets: as fields, variables of the function and globals that are ``passed`` since
    the source makes them or tests replace them there, unless they are ``fetched`` from the source when it
    runs; names that it hands back; whether the loop itself returns from the function.
    """

    parts: Parts
    variables: tuple[str, ...]
    passed: tuple[str, ...]
    fetched: tuple[str, ...]
    imported: tuple[str, ...]
    returned: tuple[str, ...]
    returns: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all that is handed in."""
        return (*self.variables, *self.passed)


def decide_loop(
    parts: Parts,
    seams: frozenset[str],
    reserved: frozenset[str],
    accepted: Accepted | None = None,
    *,
    in_package: bool = False,
) -> LoopDecision | Refusal:
    """Decide for one loop. Imports of ``reserved`` names are handed in: the target means something else by
    them. A source ``in_package`` can be asked for its globals.
    """
    passed, imported = _travelling(parts, seams, reserved)
    placed = chain(_statements(parts), _module_names(parts), _frames(parts))
    alike = chain(placed, _dynamic(parts, passed, seams), _cells(parts), _bindings(parts))
    refusal = first(chain(alike, _special(parts, passed), _lifetimes(parts)), accepted, parts.node.name)
    if refusal is not None:
        return refusal
    returned = tuple(n for n in parts.names if parts.binders(n, "loop") and parts.flow.read_in_tail(n))
    returns = any(isinstance(node, ast.Return) for node in own_nodes([parts.loop]))
    fetched: tuple[str, ...] = ()
    if in_package and _is_only_imported(parts):
        passed, fetched = (), passed
    return LoopDecision(parts, _variables(parts), passed, fetched, imported, returned, returns)


def _is_only_imported(parts: Parts) -> bool:
    """Tell whether the source is no script: asking for it by its name would load it once more.

    A script has a text `__main__`, or runs the function as it is loaded: by its name, by the name of a
    definition that leads to it, or by a decorator of one.
    """
    tree = parts.analysis.tree
    if "__main__" in tree.strings:
        return False
    leading = [parts.node.name]
    for name in leading:
        for use in tree.uses.get((tree.module, name), ()):
            if use.scope.frame() is tree.module:
                return False
            outermost = next(scope for scope in use.scope.ancestors() if scope.parent is tree.module)
            if outermost.kind not in ("function", "class"):
                return False
            if outermost.name not in leading:
                leading.append(outermost.name)
    binders = (binder for name in leading for binder in tree.binders.get((tree.module, name), ()))
    return not any(getattr(binder.node, "decorator_list", None) for binder in binders)


def _variables(parts: Parts) -> tuple[str, ...]:
    """Variables that the method is handed."""
    flow = parts.flow
    return tuple(name for name in parts.names if flow.bound_before(name) and flow.read_in_loop(name))


def _travelling(
    parts: Parts, seams: frozenset[str], reserved: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Globals that the loop reads: those handed in, and those that the target imports itself."""
    known = globals_of(parts.analysis)
    passed, imported = [], []
    for name in parts.globals:
        is_import = known.look_up(name).origin == "import"
        if known.is_passed(name, seams, parts.node.lineno) or (is_import and name in reserved):
            passed.append(name)
        elif is_import:
            imported.append(name)
    return tuple(passed), tuple(imported)


def _statements(parts: Parts) -> Refusals:
    """Statements in the loop mean the same in a method."""
    node, loop = parts.node, parts.loop
    nested = parts.scope.parent is None or parts.scope.parent.kind != "module"
    lazy = any(use.scope.inside(parts.scope) for use in parts.analysis.tree.lazy)
    special = isinstance(node, ast.AsyncFunctionDef) or is_generator(node) or parts.scope.has_type_params
    if nested or special or lazy:
        way_out = "give the loop a plain function at module level"
        yield refuse("not-understood", node, f"{node.name} is not a plain function at module level", way_out)
    for inner in nodes.walk(loop):
        line = getattr(inner, "lineno", loop.lineno)
        if isinstance(inner, ast.ClassDef):
            yield refuse("module-identity", line, f"class {inner.name} is defined here")
        elif isinstance(inner, ast.Global):
            yield refuse("global-write", line, f"{', '.join(inner.names)} is declared global here")
    for name, line in private_names(loop, "C"):
        yield refuse("class-cell", line, f"{name} means another name inside a class")
    for inner in own_nodes([loop]) if parts.tail else ():
        if isinstance(inner, ast.Return):
            yield refuse("loop-return", inner, f"this leaves {node.name}, and more follows")


def _module_names(parts: Parts) -> Refusals:
    """Globals that the loop reads are there in another module too."""
    tree, known = parts.analysis.tree, globals_of(parts.analysis)
    for found in moving.not_alike(known, "the loop", parts.globals, parts.loop):
        if found.code == "global-write":
            yield found
        else:
            yield refuse("module-identity", found.line, found.reason, "get the value before the loop")
    if any(isinstance(node, _MADE) for node in nodes.walk(parts.loop)):
        for name in _ORIGIN:
            asked = tree.attributes.get(name) or tree.strings.get(name)
            if asked is not None:
                yield refuse("module-identity", asked, f"{name} is asked for, and the loop makes functions")


def _frames(parts: Parts) -> Refusals:
    """Nothing counts frames."""
    tree = parts.analysis.tree
    for name in _COUNTS:
        line = tree.attributes.get(name)
        line = next((u.node.lineno for u in tree.uses.get((tree.module, name), ())), line)
        if line is not None:
            yield refuse("introspection", line, f"{name} is used here")


def _dynamic(parts: Parts, passed: tuple[str, ...], seams: frozenset[str]) -> Refusals:
    """Nothing looks at variables, frames or code; globals that are handed in stay what they are."""
    assert parts.scope.parent is not None
    function = Helper(
        name=parts.node.name,
        node=parts.node,
        scope=parts.scope,
        outer=parts.scope.parent,
        reads=[],
        kept=frozenset(),
        lazy=False,
    )
    lifting = Lifting(parts.analysis, {function}, {function: frozenset(passed)}, seams)
    yield from dynamic.no_dynamic_scope(lifting, function)
    yield from introspection.nothing_looks(lifting, function)
    yield from dynamic.not_compiled(lifting, function)
    yield from moving.passed_globals_settled(lifting, function)


def _cells(parts: Parts) -> Refusals:
    """No variable of the loop is shared with nested functions in a way that needs one variable for both."""
    for name in parts.names:
        for line, how in _shared(parts, name):
            yield refuse(
                "nonlocal-write",
                line,
                f"{name} is bound {how}",
                "keep the value in an object that both use, or lift the nested function first",
            )


def _shared(parts: Parts, name: str) -> Iterator[tuple[int, str]]:
    bound, later = parts.binders(name, "loop"), parts.binders(name, "tail")
    if (line := parts.shared_write(name, "setup")) is not None:
        yield line, "by a nested function here"
    if bound and (line := parts.captured(name, "setup")) is not None:
        yield bound[0].line, f"here and read by the nested function of line {line}"
    if (later or parts.uses(name, "tail")) and (line := parts.shared_write(name, "loop")) is not None:
        yield line, "by a nested function here and used after the loop"
    if later and (line := parts.captured(name, "loop")) is not None:
        yield later[0].line, f"again here, and a nested function of line {line} may still read it"


def _special(parts: Parts, passed: tuple[str, ...]) -> Refusals:
    """No name means something to a class."""
    for name in (*_variables(parts), *passed, *parts.globals):
        field = name.startswith("__") and name not in ("__name__", "__file__") and name not in dir(builtins)
        if field or name in ("super", "__class__"):
            yield refuse("class-cell", parts.loop, f"{name} means something else in a class")


def _lifetimes(parts: Parts) -> Refusals:
    """The loop releases nothing that the setup made, and the file does not watch what is released when."""
    variables, tree = _variables(parts), parts.analysis.tree
    found: list[tuple[int, str]] = []
    for node in nodes.walk(parts.loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id in variables:
            found.append((node.lineno, f"{node.id} is deleted here"))
    for (_, name), binders in tree.binders.items():
        for binder in binders:
            if name == "__del__" and isinstance(binder.node, ast.FunctionDef):
                found.append((binder.line, "a class has a finalizer here"))
            elif (imported_path(binder.node, name) or "").partition(".")[0] == "weakref":
                found.append((binder.line, "weak references are used in this file"))
    for name in ("getrefcount", "get_objects", "get_referents"):
        if (asked := tree.attributes.get(name)) is not None:
            found.append((asked, f"{name} is used here"))
    for line, what in found:
        yield refuse("lifetimes", line, what)


def _bindings(parts: Parts) -> Refusals:
    """What is handed in is bound when the loop begins, and what is handed back when it ends."""
    for line, what in _unbound(parts):
        way_out = "bind the variable before the loop, on every path, or end its branches with one that raises"
        yield refuse("maybe-unbound", line, what, way_out)


def _unbound(parts: Parts) -> Iterator[tuple[int, str]]:
    """Variables that may be unbound when they travel."""
    flow = parts.flow
    if unbound := [name for name in parts.names if _may_lack(parts, flow, name)]:
        yield parts.loop.lineno, f"{', '.join(unbound)} may be unbound where the loop begins"
    for name in parts.names:
        before, bound = parts.binders(name, "setup"), parts.binders(name, "loop")
        if bound and flow.read_in_tail(name) and not flow.bound_after(name):
            yield bound[0].line, f"{name} may be unbound where the loop ends"
        if bound and not before and (early := parts.uses(name, "setup")):
            yield early[0].node.lineno, f"{name} is read here, before the loop binds it"


def _may_lack(parts: Parts, flow: LoopFlow, name: str) -> bool:
    """Whether a variable that the loop is handed may be unbound when it begins."""
    outside = parts.binders(name, "setup") or not parts.binders(name, "loop")
    return bool(outside) and flow.read_in_loop(name) and not flow.bound_before(name)
