"""Proof that a helper was split in two and nothing else changed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

from codemods.equal.code import FUNCTIONS, NotProven, alike, copied, drop_statements
from codemods.program.helpers import Helper, is_generator
from codemods.program.scopes import FunctionNode
from codemods.program.source import Source, blocks_of


def prove_split(old: Source, new: Source, splits: Mapping[Helper, str]) -> None:
    """Check that a text is another in which some helpers have been split.

    The body's statements are the helper's own, under parameters of the same names; the residual's header is
    the helper's own, and its only statement forwards every parameter.

    Raises:
        NotProven: if anything differs but that.
    """
    before, after = ast.parse(old.text), ast.parse(new.text)
    names = {name: helper for helper, name in splits.items()}
    places = {(helper.node.lineno, helper.node.col_offset): helper for helper in splits}
    found: Counter[Helper] = Counter()
    for node in ast.walk(after):
        for block in blocks_of(node):
            for index, statement in enumerate(block):
                helper = names.get(getattr(statement, "name", ""))
                if helper is None or not isinstance(statement, FUNCTIONS) or index + 1 == len(block):
                    continue
                _prove_pair(helper, old, statement, block[index + 1])
                found[helper] += 1
    for helper, name in splits.items():
        if found[helper] != 1:
            raise NotProven(f"{name} is defined {found[helper]} times", helper)
    drop_statements(after, lambda s: isinstance(s, FUNCTIONS) and s.name in names)
    for node in ast.walk(before):
        if isinstance(node, FUNCTIONS) and (helper := places.get((node.lineno, node.col_offset))) is not None:
            _reduce(node, splits[helper])
    if not alike(before, after):
        raise NotProven("something besides the split helpers differs")


def _reduce(node: FunctionNode, name: str) -> None:
    """Make of a helper what its residual must be: its docstring, and a statement that hands on everything."""
    documented = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
    node.body = [*documented, ast.parse(f"return {_forwarding(node, name)}").body[0]]


def _forwarding(node: FunctionNode, name: str) -> str:
    """The expression that calls the body with every parameter."""
    arguments = node.args
    given = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    given += [f"*{arguments.vararg.arg}"] if arguments.vararg is not None else []
    named = [*arguments.kwonlyargs, *([arguments.kwarg] if arguments.kwarg is not None else [])]
    call = f"{name}({', '.join([*given, *(f'{a.arg}={a.arg}' for a in named)])})"
    if isinstance(node, ast.AsyncFunctionDef):
        return f"await {call}"
    return f"(yield from {call})" if is_generator(node) else call


def _prove_pair(helper: Helper, source: Source, body: ast.stmt, residual: ast.stmt) -> None:
    """Check one function with a body against the helper; the residual is compared with all that is left."""
    assert isinstance(body, FUNCTIONS)
    wanted = _body_arguments(helper.node, annotated="annotations" in source.future_flags)
    if type(body) is not type(helper.node) or body.decorator_list:
        raise NotProven(f"{helper.name}: the kind of its body's function differs", helper)
    if not alike(body.args, wanted):
        raise NotProven(f"{helper.name}: its body's parameters differ", helper)
    if getattr(residual, "name", None) != helper.name:
        raise NotProven(f"{helper.name}: its residual does not follow its body", helper)
    if not alike(body.body, helper.node.body):
        raise NotProven(f"{helper.name}: its body changed", helper)


def _body_arguments(node: FunctionNode, *, annotated: bool) -> ast.arguments:
    """The body's parameters: the helper's without defaults; ``**keywords`` handed over as a plain dict."""
    arguments = copied(node.args)
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    if arguments.kwarg is not None:
        keywords, arguments.kwarg = arguments.kwarg, None
        keywords.annotation = None
        arguments.kwonlyargs.append(keywords)
        arguments.kw_defaults.append(None)
    if not annotated:
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
    return arguments
