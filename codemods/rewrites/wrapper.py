"""Split a helper in two: a function with its body, and a one-line closure that forwards to it; and the rules
for that.

The closure (the residual) keeps everything that a value shows: name, signature, defaults, annotations,
decorators, docstring, kind, identity. The function with the body is then only ever called, by the residual.
"""

from __future__ import annotations

import ast
import builtins
import dis
import types
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import libcst as cst

from codemods.program.lifting import Helper, Lifting
from codemods.program.nodes import all_arguments, first_line
from codemods.program.scopes import dotted, is_generator
from codemods.program.source import Source, nested_code, words
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


_ENCODING = frozenset(["CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "NOP", "RESUME", "RETURN_GENERATOR"])
_LOADS = frozenset(["LOAD_CONST", "LOAD_DEREF", "LOAD_FAST", "LOAD_GLOBAL", "PUSH_NULL"])
_BUILDS = frozenset(["BUILD_LIST", "BUILD_TUPLE"])


def entry_reads(source: Source, helper: Helper) -> dict[str, bool]:
    """Captures read only at the helper's entry; whether an unbound one is the first thing to fail.

    Such a read can as well be made by the caller: no other code, in this thread or another, runs between the
    two that the program could tell from code running before both.
    """
    code = _code_of(source, helper)
    if code is None:
        return {}
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += sum(bool(code.co_flags & flag) for flag in (0x04, 0x08))
    given = set(code.co_varnames[:parameters])
    handled = [
        range(entry.start, entry.end)
        for entry in dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    ]
    first: dict[str, bool] = {}
    later: set[str] = {name for inner in nested_code(code) for name in inner.co_freevars}
    at_entry, sure, made = True, True, False
    for item in dis.get_instructions(code):
        name = item.opname
        # What a loop comes back to runs more than once.
        at_entry = at_entry and not item.is_jump_target
        if name == "LOAD_DEREF" and item.argval in code.co_freevars:
            if at_entry:
                unhandled = not any(item.offset in part for part in handled)
                first[item.argval] = first.get(item.argval, True) and sure and unhandled
            else:
                later.add(item.argval)
        if made and name == "POP_TOP":
            made = False
            continue
        made = name == "RETURN_GENERATOR"
        at_entry = at_entry and name in _ENCODING | _LOADS | _BUILDS
        sure = sure and not (
            (name == "LOAD_GLOBAL" and not hasattr(builtins, str(item.argval)))
            or (name == "LOAD_FAST" and item.argval not in given)
            or (name == "LOAD_DEREF" and item.argval not in code.co_freevars)
        )
    return {name: alike for name, alike in first.items() if name not in later}


def _code_of(source: Source, helper: Helper) -> types.CodeType | None:
    """The helper's code object, if name and line tell which it is."""
    codes, line = [source.compiled()], first_line(helper.node)
    for code in codes:
        codes += nested_code(code)
    found = [c for c in codes if (c.co_name, c.co_firstlineno) == (helper.node.name, line)]
    return found[0] if len(found) == 1 else None
