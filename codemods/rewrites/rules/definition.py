"""What a definition evaluates each time it is executed: defaults and decorators."""

from __future__ import annotations

import ast
import re

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import all_defaults, called, first_of
from codemods.program.scopes import dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, refuse

# Decorators that keep no state and do the same thing however often they are applied.
STATELESS_DECORATORS = words("""
    contextlib.asynccontextmanager contextlib.contextmanager torch.compiler.disable torch.enable_grad
    torch.inference_mode torch.jit.unused torch.no_grad
""")


def is_constant(node: ast.expr) -> bool:
    """Whether an expression makes the same immutable value whenever it is evaluated."""
    match node:
        case ast.UnaryOp(ast.USub() | ast.UAdd(), ast.Constant(value)):
            return isinstance(value, (int, float, complex))
        case ast.Tuple(elements):
            return all(map(is_constant, elements))
    return isinstance(node, ast.Constant)


def plain_definition(lifting: Lifting, helper: Helper) -> Refusals:
    """Defaults are immutable literals; decorators are known ones, imported before the outer function."""
    for default in all_defaults(helper.node.args):
        if not is_constant(default):
            what = f"a default value of {helper.name} is evaluated at every definition"
            yield refuse("default-not-constant", default, what)
    for decorator in helper.node.decorator_list:
        given = (
            [*decorator.args, *(k.value for k in decorator.keywords)]
            if isinstance(decorator, ast.Call)
            else []
        )
        base = first_of(called(decorator))
        known = dotted(lifting.tree, helper.outer, called(decorator)) in STATELESS_DECORATORS
        known = known and isinstance(base, ast.Name) and bound_early(lifting, helper, base.id)
        if not known or not all(map(is_constant, given)):
            yield refuse("decorated", decorator, f"{helper.name} is decorated here")


def bound_early(lifting: Lifting, helper: Helper, name: str) -> bool:
    """Whether a name is a global that is bound when the statement of the outermost function is reached."""
    module = lifting.tree.module
    if lifting.tree.owner(helper.outer, name) is not module or (module, name) not in lifting.tree.binders:
        return False
    flow = lifting.analysis.flow(module)
    root = helper.top
    return flow.knows(root) and flow.bound_at(root, name)


def no_type_params(lifting: Lifting, helper: Helper) -> Refusals:
    """No type parameters that the helper has or names, no variable that is read when a type is evaluated."""
    text = set(re.findall(r"\w+", lifting.tree.source.segment(helper.node)))
    for scope in helper.scope.ancestors():
        if scope.has_type_params and (scope is helper.scope or scope.types is None):
            yield refuse(
                "not-understood",
                scope.node,
                f"{scope.name} has type parameters",
                "use a TypeVar of the module",
            )
        for name in sorted(text & (scope.types.names.keys() if scope.types is not None else set())):
            yield refuse(
                "not-understood",
                helper.node,
                f"{helper.name} names {name}, a type parameter of {scope.name}",
                "use a TypeVar of the module",
            )
    for use in lifting.tree.lazy:
        if use.scope.inside(helper.root):
            reason = f"{use.node.id} is read whenever a type is evaluated"
            yield refuse("not-understood", use.node, reason, "use a TypeVar of the module")


def no_doctest(lifting: Lifting, helper: Helper) -> Refusals:
    """The docstring has no examples to be run."""
    if ">>>" in (ast.get_docstring(helper.node, clean=False) or ""):
        yield refuse("introspection", helper.node, f"the docstring of {helper.name} has doctest examples")
