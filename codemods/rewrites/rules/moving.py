"""What a helper must not depend on when it moves to another module, and where the lifted function can
stand.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from codemods.program import nodes
from codemods.program.effects import Effect
from codemods.program.file_effects import effects_of
from codemods.program.globals import Globals, globals_of
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import first_line
from codemods.program.scopes import Binder, ScopeTree
from codemods.program.source import all_blocks
from codemods.rewrites.refusals import Refusals, refuse


def place_for_function(lifting: Lifting, helper: Helper) -> Refusals:
    """The statement of the outermost function is executed once at most."""
    root = helper.top
    if root not in lifting.tree.once("placed", lambda: _placed(lifting.tree.source.tree.body)):
        yield refuse(
            "not-understood",
            root,
            f"{helper.root.name} is defined in a loop or match",
            "define it at the module's top level",
        )


def _placed(body: list[ast.stmt]) -> set[ast.AST]:
    """The statements that are executed once at most, at any depth of conditions."""
    found: set[ast.AST] = set(body)
    for statement in body:
        if isinstance(statement, (ast.If, ast.Try, ast.TryStar, ast.With)):
            for block in all_blocks(statement):
                found |= _placed(block)
    return found


def globals_travel(lifting: Lifting, helper: Helper) -> Refusals:
    """In another module, every global means the same, or is passed and means the same."""
    if helper not in lifting.foreign:
        return
    tree, module, name = lifting.tree, lifting.tree.module, helper.name
    known = globals_of(lifting.analysis)
    defining = known.defining(helper)
    yield from not_alike(known, name, known.read_in(helper.scope) | defining, helper.node)
    for passed, owner in lifting.needs[helper]:
        for statement, scope in tree.declared.get((module, passed), []):
            if owner is module and scope.inside(helper.scope):
                yield refuse("global-write", statement, f"{name} declares {passed} global")
    for read, line in defining.items():
        if known.look_up(read).origin == "own":
            what = f"the definition of {name} reads {read}, and no plain import of this file brings it"
            yield refuse("unresolved-global", line, what)


def not_alike(known: Globals, name: str, reads: Mapping[str, int], node: ast.AST) -> Refusals:
    """Why a node would do something else in another module, by the globals that it reads and binds."""
    tree, inside = known.tree, set(nodes.walk(node))
    scope = tree.by_node.get(node)
    for written, binder in tree.once("globals written", lambda: list(_written(tree))):
        if binder.node in inside:
            yield refuse("global-write", binder.line, f"{name} assigns the global {written}")
    for read, line in known.fallbacks_in(scope).items() if scope is not None else ():
        yield refuse("module-identity", line, f"a class body in {name} may read {read} of its module")
    for read, line in reads.items():
        match known.look_up(read).origin:
            case "identity":
                yield refuse("module-identity", line, f"{name} reads {read}")
            case "builtin" if read == "globals":
                yield refuse("module-identity", line, f"{name} uses globals()")
            case "star":
                yield refuse("unresolved-global", line, *_from_star(read))
            case "unknown" | "typing":
                yield refuse("unresolved-global", line, f"{read} is not bound at run time in this file")


def _from_star(name: str) -> tuple[str, str | None]:
    """What keeps a name where it is, and the way out, which is another one for a builtin."""
    if not hasattr(builtins, name):
        return f"{name} may come from the star import in this file", None
    what = f"{name} is the builtin, unless the star import in this file brings one"
    return what, f"name what is imported there instead of *; {name} itself needs no import"


def _written(tree: ScopeTree) -> Iterator[tuple[str, Binder]]:
    """Globals that code within functions and classes binds."""
    for (owner, name), binders in tree.binders.items():
        if owner is tree.module:
            yield from ((name, binder) for binder in binders if binder.scope is not owner)


def passed_globals_settled(lifting: Lifting, helper: Helper) -> Refusals:
    """A global that is passed has at the call the value that the helper would read."""
    module = lifting.tree.module
    passed = [need for need in lifting.needs[helper] if need[1] is module]
    if not passed:
        return
    known = globals_of(lifting.analysis)
    flow = lifting.analysis.flow(module)
    for need in passed:
        found = known.look_up(need[0])
        root = helper.top
        if found.rebound is not None:
            yield refuse("global-rebound", found.rebound, f"{need[0]} may be rebound here at any time")
        bound = flow.knows(root) and flow.bound_at(root, need[0])
        if not bound and not (flow.bound_at_end(need[0]) and _uncalled_until_bound(lifting, root, need[0])):
            yield refuse(
                "maybe-unbound", helper.node, f"the global {need[0]} may be unbound where it is passed"
            )
        if need in lifting.kept[helper] or helper.lazy:
            if found.repeated is not None:
                yield refuse("global-rebound", found.repeated, f"{need[0]} is bound again here")
            if need[0] in lifting.seams:
                yield refuse(
                    "moved-seam",
                    helper.node,
                    f"{need[0]} is read after {helper.name} has returned",
                    "read the seam in the outer function and let the helper capture the result",
                )


def _uncalled_until_bound(lifting: Lifting, root: ast.AST, name: str) -> bool:
    """Whether nothing that loading the module runs, until a global is bound, may call a function above."""
    tree = lifting.tree
    last = max(binder.line for binder in tree.binders[tree.module, name])
    start = root.end_lineno or 0  # type: ignore[attr-defined]
    between = [statement for statement in tree.source.tree.body if start < first_line(statement) <= last]
    return effects_of(tree).most(between) < Effect.RUNS


def is_main_block(statement: ast.stmt) -> bool:
    """Whether a statement is ``if __name__ == "__main__"`` at the end of a module."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name("__name__")), orelse=[]):
            return True
    return False
