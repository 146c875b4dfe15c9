"""Split a helper in two: a function with its body, and a one-line closure that forwards to it; and the rules
for that.

The closure (the residual) keeps everything that a value shows: name, signature, defaults, annotations,
decorators, docstring, kind, identity. The function with the body is then only ever called, by the residual.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import libcst as cst

from codemods.program.helpers import Helper, is_generator
from codemods.program.lifting import Lifting
from codemods.program.nodes import all_arguments
from codemods.program.scopes import dotted
from codemods.program.source import Source, words
from codemods.rewrites.refusals import Refusals, refuse
from codemods.rewrites.rules import assumptions
from codemods.rewrites.text.blocks import flat
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.layout import NOTHING, documentation

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
    """A closure can forward to it, and holds its parameters as long as it does."""
    if isinstance(helper.node, ast.AsyncFunctionDef) and is_generator(helper.node):
        reason = f"{helper.name} is an asynchronous generator, to which no closure can forward"
        yield refuse("not-understood", helper.node, reason)
    parameters = {argument.arg for argument in all_arguments(helper.node.args)}
    yield from assumptions.not_released(assumptions.deleted_in(helper.node), parameters)


RESIDUAL_CHECKS = (no_visible_frame, forwardable)
"""Rules that a helper must pass besides those of a lift, for a residual to stay of it."""


def split_helpers(source: Source, names: Mapping[Helper, str]) -> Program:
    """Give helpers' bodies to functions of these names before them, and leave residuals.

    Raises:
        TextNotPreserved: if libcst would write one differently.
    """
    program = Program(source, [helper.node for helper in names])
    for helper, name in names.items():
        _split(program, helper, name)
    return program


def _split(program: Program, helper: Helper, name: str) -> None:
    source, statement = program.source, helper.node
    annotated = "annotations" in source.future_flags
    residual: list[cst.FunctionDef] = []

    def body(node: Any) -> cst.FunctionDef:
        """The function with the body."""
        residual.append(_residual(node, helper, name))
        return _body(node, name, annotated=annotated)

    program.change(program.nodes[statement], body)
    program.after(statement, lambda: residual)


def _body(node: cst.FunctionDef, name: str, *, annotated: bool) -> cst.FunctionDef:
    return node.with_changes(
        name=cst.Name(name),
        decorators=(),
        lines_after_decorators=(),
        params=_handed(node.params, annotated=annotated),
        whitespace_before_params=NOTHING,
        returns=node.returns if annotated else None,
    )


def _handed(params: cst.Parameters, *, annotated: bool) -> cst.Parameters:
    """The helper's parameters without defaults; ``**keywords`` handed over as a plain dict."""

    def bare(param: cst.Param) -> cst.Param:
        changes: dict[str, Any] = {} if annotated else {"annotation": None}
        return param.with_changes(
            default=None,
            equal=cst.MaybeSentinel.DEFAULT,
            comma=cst.MaybeSentinel.DEFAULT,
            whitespace_after_star=NOTHING,
            whitespace_after_param=NOTHING,
            **changes,
        )

    star = bare(params.star_arg) if isinstance(params.star_arg, cst.Param) else cst.MaybeSentinel.DEFAULT
    keywords = [] if params.star_kwarg is None else [cst.Param(params.star_kwarg.name)]
    return cst.Parameters(
        posonly_params=[bare(param) for param in params.posonly_params],
        params=[bare(param) for param in params.params],
        star_arg=star,
        kwonly_params=[*(bare(param) for param in params.kwonly_params), *keywords],
    )


def _residual(node: cst.FunctionDef, helper: Helper, name: str) -> cst.FunctionDef:
    """The definition as it was, with nothing in it but its docstring and the call of its body."""
    kept: list[Any] = []
    if documentation(helper.node.body) is not None:
        first: Any = next(flat(node.body.body))[0]
        kept = [cst.SimpleStatementLine([first.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])]
    block = node.body if isinstance(node.body, cst.IndentedBlock) else None
    return node.with_changes(
        # Comments go with the body.
        leading_lines=[*takewhile(lambda line: line.comment is None, node.leading_lines)],
        body=cst.IndentedBlock(
            [*kept, _forward(helper, name)], indent=None if block is None else block.indent
        ),
    )


def _forward(helper: Helper, name: str) -> cst.BaseStatement:
    """The statement that forwards all parameters."""
    node = helper.node
    arguments = node.args
    given = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    given += [f"*{arguments.vararg.arg}"] if arguments.vararg is not None else []
    named = [*arguments.kwonlyargs, *([arguments.kwarg] if arguments.kwarg is not None else [])]
    given += [f"{argument.arg}={argument.arg}" for argument in named]
    before, after = "return ", ""
    if isinstance(node, ast.AsyncFunctionDef):
        before += "await "
    elif is_generator(node):
        before, after = "return (yield from ", ")"
    made = cst.parse_statement(f"{before}{name}({', '.join(given)}){after}")
    assert isinstance(made, cst.BaseStatement)
    return made
