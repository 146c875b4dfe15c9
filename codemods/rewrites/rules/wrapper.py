"""Helpers that a wrapper (a one-line closure that forwards to the lifted function) can't stand for."""

from __future__ import annotations

import ast

from codemods.program.helpers import Helper
from codemods.program.lifting import Lifting
from codemods.program.nodes import all_arguments
from codemods.program.scopes import dotted
from codemods.program.words import words
from codemods.rewrites.refusals import Refusals, refuse
from codemods.rewrites.rules import assumptions

_STACK_ATTRIBUTES = words("""
    ag_await cr_await extract_stack extract_tb format_exc format_stack getrecursionlimit gi_yieldfrom
    print_exc print_stack setrecursionlimit tb_lineno tb_next walk_stack walk_tb
""")
_PICKLERS = ("cloudpickle", "dill", "joblib", "marshal", "pickle")


def no_visible_frame(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing in the file counts frames, looks at them or pickles a function, or compiles the helper, which
    does not recurse.
    """
    tree = lifting.tree
    yield from assumptions.nothing_looks(lifting, helper)
    found: list[tuple[int | ast.AST, str]] = [
        (tree.attributes.get(word, helper.node.lineno), f"{word} sees how deep the stack is")
        for word in sorted(_STACK_ATTRIBUTES & (tree.attributes.keys() | tree.names))
    ]
    for node in tree.nodes:
        match node:
            case ast.Call(func, args, keywords):
                warns = dotted(tree, tree.module, func) == "warnings.warn" and len(args) > 2
                if warns or any(keyword.arg == "stacklevel" for keyword in keywords):
                    found.append((node.lineno, "a stack level is given here"))
            case ast.Import(names):
                found += [
                    (node.lineno, f"{n.name} is used in this file") for n in names if n.name in _PICKLERS
                ]
            case ast.ImportFrom(module=module) if module in _PICKLERS:
                found.append((node.lineno, f"{module} is used in this file"))
    if any(use.scope.inside(helper.scope) for use in lifting.analysis.uses(helper)):
        what = f"{helper.name} calls itself: every level takes two frames"
        found.append((helper.node.lineno, what))
    for at, what in (*found, *assumptions.compiling(lifting, helper)):
        yield refuse("introspection", at, what)


def forwardable(lifting: Lifting, helper: Helper) -> Refusals:
    """The helper holds its parameters as long as the function that it forwards to."""
    parameters = {argument.arg for argument in all_arguments(helper.node.args)}
    yield from assumptions.not_released(assumptions.deleted_in(helper.node), parameters)


RESIDUAL_CHECKS = (no_visible_frame, forwardable)
"""Rules that a helper must pass besides those of a lift, for a residual to stay of it."""
