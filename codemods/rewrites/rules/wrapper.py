"""What a residual (a one-line closure that forwards to the lifted function) can't hide."""

from __future__ import annotations

import ast

from codemods.program import nodes
from codemods.program.helpers import Helper, own_nodes
from codemods.program.lifting import Lifting
from codemods.program.nodes import all_arguments, called
from codemods.program.scopes import ScopeTree, dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, refuse

_STACK_ATTRIBUTES = words("""
    ag_await cr_await extract_stack extract_tb format_exc format_stack getrecursionlimit gi_yieldfrom
    print_exc print_stack setrecursionlimit tb_lineno tb_next walk_stack walk_tb
""")
_READERS = ("numba.", "taichi.", "tensorflow.", "torch.jit.", "triton.")
_PICKLERS = ("cloudpickle.", "dill.", "joblib.", "marshal.", "pickle.")


def no_visible_frame(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing in the file counts frames, and the helper does not recurse."""
    tree, name = lifting.tree, helper.name
    for found in sorted(_STACK_ATTRIBUTES & (tree.attributes.keys() | tree.bound_names)):
        line = tree.attributes.get(found, helper.node.lineno)
        yield refuse("introspection", line, f"{found} sees how deep the stack is")
    for node in nodes.walk(tree.source.tree):
        for level in _levels(tree, node):
            if not (isinstance(level, ast.Constant) and level.value == 1):
                yield refuse("introspection", node, "a stack level is given here")
    if helper in _called_from(lifting, helper):
        yield refuse(
            "introspection", helper.node, f"{name} leads back to itself: every level takes two frames"
        )


def _levels(tree: ScopeTree, node: ast.AST) -> list[ast.expr]:
    """The stack levels that a node gives, if it is a call."""
    if not isinstance(node, ast.Call):
        return []
    levels = [keyword.value for keyword in node.keywords if keyword.arg == "stacklevel"]
    if dotted(tree, tree.module, node.func) == "warnings.warn":
        levels += node.args[2:3]
    return levels


def _called_from(lifting: Lifting, helper: Helper) -> set[Helper]:
    """Helpers whose names stand in a helper, or in those that it names."""
    found: set[Helper] = set()
    waiting = [helper]
    while waiting:
        scope = waiting.pop().scope
        for other in lifting.analysis.helpers:
            if other not in found and any(use.scope.inside(scope) for use in lifting.analysis.uses(other)):
                found.add(other)
                waiting.append(other)
    return found


def forwardable(lifting: Lifting, helper: Helper) -> Refusals:
    """A function of its kind can forward to another."""
    if isinstance(helper.node, ast.AsyncFunctionDef):
        for node in own_nodes(helper.node.body):
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                yield refuse(
                    "not-understood",
                    node,
                    f"{helper.name} is an asynchronous generator",
                    "let the helper only be called",
                )


def keeps_parameters(lifting: Lifting, helper: Helper) -> Refusals:
    """No parameter is deleted."""
    parameters = {argument.arg for argument in all_arguments(helper.node.args)}
    for node in ast.walk(helper.node):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id in parameters:
            yield refuse("lifetimes", node, f"the parameter {node.id} is deleted here")


def code_unread(lifting: Lifting, helper: Helper) -> Refusals:
    """The helper is not handed to what reads its code."""
    tree = lifting.tree
    for decorator in helper.node.decorator_list:
        path = dotted(tree, helper.outer, called(decorator)) or ""
        if path.startswith(_READERS):
            yield refuse("introspection", decorator, f"{path} compiles {helper.name}")
    for use in lifting.analysis.uses(helper):
        call = tree.parents.get(use.node)
        call = tree.parents.get(call) if isinstance(call, (ast.Tuple, ast.List, ast.keyword)) else call
        if isinstance(call, ast.Call) and call.func is not use.node:
            path = dotted(tree, use.scope, call.func) or ""
            if path.startswith((*_READERS, *_PICKLERS)):
                yield refuse("introspection", call, f"{helper.name} is handed to {path}")
