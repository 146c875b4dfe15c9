"""Dependencies that keep a helper from moving to another module."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from codemods.program import nodes
from codemods.program.globals import Globals, globals_of
from codemods.program.lifting import Helper, Lifting
from codemods.program.modules import effects_of
from codemods.program.nodes import first_line
from codemods.rewrites.refusals import Refusals, refuse


def globals_travel(lifting: Lifting, helper: Helper) -> Refusals:
    """In another module, every global means the same, or is passed and means the same."""
    if helper not in lifting.foreign:
        return
    known = globals_of(lifting.analysis)
    passed = lifting.foreign[helper]
    reads = {name: line for name, line in known.read_in(helper.scope).items() if name not in passed}
    reads |= known.defining(helper)
    yield from not_alike(known, helper.name, reads, helper.node)


def not_alike(known: Globals, name: str, reads: Mapping[str, int], node: ast.AST) -> Refusals:
    """Why a node would do something else in another module, by the globals that it reads and binds."""
    tree, inside = known.tree, set(nodes.walk(node))
    scope = tree.by_node.get(node)
    for (owner, written), binders in tree.binders.items():
        for binder in binders if owner is tree.module else ():
            if binder.scope is not owner and binder.node in inside:
                yield refuse("global-write", binder.line, f"{name} assigns the global {written}")
    lines = dict(reads)
    found: dict[str, str] = {read: known.look_up(read).origin for read in reads}
    if scope is not None:
        # Before a class body has bound such a name, it reads the module's.
        fallbacks = known.fallbacks_in(scope)
        lines |= fallbacks
        found |= dict.fromkeys(fallbacks, "identity")
    for read, origin in found.items():
        starred = known.look_up(read).starred if origin != "identity" else None
        if (
            origin in ("builtin", "import", "own")
            and starred is None
            and (origin, read) != ("builtin", "globals")
        ):
            continue
        code = "star-import" if origin in ("import", "builtin or star") else "unresolved-global"
        if origin == "identity" or read == "globals":
            code = "module-identity"
        what, way_out = "may mean something else elsewhere", None
        if origin == "unknown":
            what = "nothing in this file binds"
        if starred is not None:
            what = f"the star import in line {starred} may bring"
            way_out = "name what it imports"
        yield refuse(code, lines[read], f"{name} reads {read}, which {what}", way_out)


def passed_globals_settled(lifting: Lifting, helper: Helper) -> Refusals:
    """A global that is passed has at the call the value that the helper would read."""
    module, root = lifting.tree.module, helper.top
    for need in lifting.needs[helper]:
        if need[1] is not module:
            continue
        found, flow = globals_of(lifting.analysis).look_up(need[0]), lifting.analysis.flow(module)
        late = need in lifting.kept[helper] or helper.lazy
        again = found.rebound or (found.repeated if late else None)
        if again is not None:
            yield refuse("rebound-globals", again, f"{need[0]} may be bound again here")
        bound = flow.knows(root) and flow.bound_at(root, need[0])
        if not bound and not (flow.bound_at_end(need[0]) and _uncalled_until_bound(lifting, root, need[0])):
            # Where loading the module may leave it unbound, a program may well do without it.
            points = filter(flow.knows, _last_of_script(lifting.tree.source.tree))
            ends = flow.bound_at_end(need[0]) or any(flow.bound_at(point, need[0]) for point in points)
            what = f"the global {need[0]} may be unbound where it is passed"
            elsewhere = found.origin == "star" or found.rebound is not None
            yield refuse("unbound-reads" if ends or elsewhere else "maybe-unbound", helper.node, what)
        if late and need[0] in lifting.seams:
            what = f"{need[0]} is read after {helper.name} has returned"
            way_out = "read the seam in the outer function and let the helper capture the result"
            yield refuse("moved-seam", helper.node, what, way_out)


def _uncalled_until_bound(lifting: Lifting, root: ast.AST, name: str) -> bool:
    """Tell whether nothing that loading the module runs, until a global is bound, may call a function
    above.
    """
    tree = lifting.tree
    last = max(binder.line for binder in tree.binders[tree.module, name])
    start = root.end_lineno or 0  # type: ignore[attr-defined]
    between = [statement for statement in tree.source.tree.body if start < first_line(statement) <= last]
    return not effects_of(tree).runs(between)


def _last_of_script(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of the last statement of the block that a script runs."""
    for statement in tree.body:
        if isinstance(statement, ast.If) and is_main_block(statement):
            yield from nodes.walk(statement.body[-1])


def is_main_block(statement: ast.stmt) -> bool:
    """Tell whether a statement is ``if __name__ == "__main__"`` at the end of a module."""
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name("__name__")), orelse=[]):
            return True
    return False
