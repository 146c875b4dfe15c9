"""Code that looks at scopes from within sees every lift."""

from __future__ import annotations

import ast

from codemods.program import nodes
from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.loops import private_names
from codemods.program.namespaces import (
    EVALUATORS,
    evaluating,
    reaching,
    sees_given_only,
)
from codemods.program.scopes import Scope, ScopeTree, Use, dotted, mangle
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, refuse

_SIMPLE = (ast.AnnAssign, ast.Assign, ast.Expr)
_COMPILERS = words("""
    numba.cfunc numba.cuda.jit numba.guvectorize numba.jit numba.njit numba.stencil numba.vectorize
    taichi.func taichi.kernel tensorflow.function torch.jit.ignore torch.jit.script torch.jit.script_method
    torch.jit.trace triton.jit
""")


def no_dynamic_scope(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing asks for variables of the outermost function, or of the module, by name."""
    tree = lifting.tree
    function = [scope for scope in helper.scope.ancestors() if scope.kind == "function"][-1]
    for name, use in evaluating(tree):
        if name == "globals" and use.call is not None and _looks_up(tree.parents[use.call], use.call):
            continue
        allowed = EVALUATORS[name]
        near = use.scope.inside(function) or name == "globals" or use.scope.space is tree.module
        early = allowed == 0 and is_early(tree, function, use)
        if use.call is None or (near and not early and not sees_given_only(use.call, allowed)):
            yield refuse("dynamic-names", use.node, f"{name} is used here")
    for node, path in reaching(tree):
        yield refuse("dynamic-names", node, f"{path} is used here")


def _looks_up(around: ast.AST, call: ast.Call) -> bool:
    """Whether ``globals()[name]`` reads one name: the lifted function has a name that nothing else spells."""
    return isinstance(around, ast.Subscript) and around.value is call and isinstance(around.ctx, ast.Load)


def is_early(tree: ScopeTree, function: Scope, use: Use) -> bool:
    """Whether ``locals()``, ``vars()`` or ``dir()`` stands before all that a lift changes: only assignments
    and expressions without loops and functions stand before it.

    Parameters keep their places in the dictionary. The others are followed there by those that nested
    functions capture, so of these one may be bound, where it is alone.
    """
    call, node = use.call, function.node
    if call is None or use.scope is not function or function.free or isinstance(node, ast.Lambda):
        return False
    bound = set[str]()
    for statement in node.body:  # type: ignore[attr-defined]
        parts = set(nodes.walk(statement))
        if not isinstance(statement, _SIMPLE) or any(part in tree.by_node for part in parts):
            return False
        if call in parts:
            captured = {name for scope in function.below() for name in scope.free}
            return len(bound) < 2 or not bound & captured
        bound |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return False


def seen_early(tree: ScopeTree, function: Scope) -> ast.Name | None:
    """Where a function's variables are seen by name before what a lift changes, if they are."""
    names = [name for name, allowed in EVALUATORS.items() if allowed == 0]
    uses = [use for name in names for use in tree.uses.get((tree.module, name), ())]
    return next(
        (u.node for u in uses if u.call and not u.call.args and is_early(tree, function, u)),
        None,
    )


def not_compiled(lifting: Lifting, helper: Helper) -> Refusals:
    """No function around the helper is handed to a compiler that reads its source or bytecode."""
    tree = lifting.tree
    for scope in helper.scope.ancestors():
        for decorator in getattr(scope.node, "decorator_list", []):
            if dotted(tree, scope.parent or tree.module, nodes.called(decorator)) in _COMPILERS:
                yield refuse("introspection", decorator, f"{scope.name} is compiled from its source here")
    for use in tree.uses.get((tree.module, helper.root.name), []):
        call = tree.parents.get(use.node) if use.call is None else None
        if not isinstance(call, ast.Call) or use.node not in call.args:
            continue
        if dotted(tree, use.scope, call.func) in _COMPILERS:
            yield refuse("introspection", call, f"{helper.root.name} is compiled from its source here")


def no_class_cell(lifting: Lifting, helper: Helper) -> Refusals:
    """The helper has no need of a class around it."""
    if "__class__" in helper.scope.free and not _names_its_class(lifting, helper):
        yield refuse(
            "class-cell", helper.node, f"{helper.name} uses super() or __class__ of the class around it"
        )
    private = helper.scope.private
    for name, line in private_names(helper.node, private) if private is not None else ():
        yield refuse("class-cell", line, f"{name} means {mangle(name, private)} in class {private}")


def _names_its_class(lifting: Lifting, helper: Helper) -> bool:
    """Whether every super() in the helper is given its class, so that nothing reads the cell."""
    tree = lifting.tree
    reads = [use for (_, name), uses in tree.uses.items() if name == "__class__" for use in uses]
    supers = tree.uses.get((tree.module, "super"), [])
    return not any(use.scope.inside(helper.scope) for use in reads) and all(
        use.call is not None and len(use.call.args) == 2 for use in supers if use.scope.inside(helper.scope)
    )


def scopes_agree(lifting: Lifting, helper: Helper) -> Refusals:
    """What the walk found to be free is what the compiler says."""
    line = helper.node.lineno
    if frozenset(helper.captures) != helper.scope.free - _declared_only(lifting, helper) - {"__class__"}:
        yield refuse(
            "not-understood", line, "the names that it captures are not those of the compiler's symbol table"
        )
    for use in lifting.analysis.uses(helper):
        # That an augmented assignment reads its target is a matter of what else binds the name.
        if use.written and not use.scope.inside(helper.scope) and not _evaluated(lifting, use):
            yield refuse(
                "not-understood", use.node, f"{helper.name} stands in an expression that is not evaluated"
            )


def _declared_only(lifting: Lifting, helper: Helper) -> frozenset[str]:
    """Names that are free in the helper only because something in it declares them."""
    names = {
        name
        for (owner, name), statements in lifting.tree.declared.items()
        if owner.kind == "function" and not owner.inside(helper.scope)
        if any(scope.inside(helper.scope) for _, scope in statements)
    }
    return frozenset(names - set(helper.captures))


def _evaluated(lifting: Lifting, use: Use) -> bool:
    """Whether a use is a place in the flow of its own frame."""
    frame = use.scope.frame()
    if frame.kind != "function":
        return True
    node = use.call or use.node
    owner = lifting.tree.owner(use.scope, use.node.id)
    return owner is not frame or lifting.analysis.flow(frame).knows(node)
