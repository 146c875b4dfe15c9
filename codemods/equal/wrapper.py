"""Proof that functions became wrappers of others, which have their bodies, and nothing else changed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

from codemods.equal.code import FUNCTIONS, NotProven, Place, alike, copied, drop_statements, place_of
from codemods.program.scopes import FunctionNode, is_generator
from codemods.program.source import Source, blocks_of, statements_in


def prove_wrappers(old: Source, new: Source, wrapped: Mapping[Place, str]) -> None:
    """Check that a text is another in which some functions became wrappers of others.

    ``wrapped`` gives for the place of each, in the old text, the name of the function that has its body now.
    That function's statements are the old ones, under parameters of the same names; the wrapper's header is
    the old one, and its only statement forwards every parameter.

    Raises:
        NotProven: if anything differs but that.
    """
    before, after = ast.parse(old.text), ast.parse(new.text)
    functions = {place_of(node): node for node in statements_in(before) if isinstance(node, FUNCTIONS)}
    if missing := wrapped.keys() - functions.keys():
        raise NotProven(f"line {min(missing)[0]}: there is no function")
    names = {name: functions[place] for place, name in wrapped.items()}
    found: Counter[str] = Counter()
    for node in ast.walk(after):
        for block in blocks_of(node):
            for index, statement in enumerate(block):
                if not isinstance(statement, FUNCTIONS) or index + 1 == len(block):
                    continue
                if (function := names.get(statement.name)) is not None:
                    _prove_pair(function, old, statement, block[index + 1])
                    found[statement.name] += 1
    for place, name in wrapped.items():
        if found[name] != 1:
            raise NotProven(f"{name} is defined {found[name]} times", place)
    drop_statements(after, lambda s: isinstance(s, FUNCTIONS) and s.name in names)
    for place, name in wrapped.items():
        _reduce(functions[place], name)
    if not alike(before, after):
        raise NotProven("something besides the wrapped functions differs")


def _reduce(node: FunctionNode, name: str) -> None:
    """Leave a function as its wrapper: its docstring, and a statement that hands on everything."""
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
        if is_generator(node):
            raise NotProven(
                f"{node.name} is an asynchronous generator, which nothing can forward", place_of(node)
            )
        return f"await {call}"
    return f"(yield from {call})" if is_generator(node) else call


def _prove_pair(function: FunctionNode, source: Source, body: FunctionNode, wrapper: ast.stmt) -> None:
    """Check one function with a body against the old one; its wrapper is compared with all that is left."""
    name, place = function.name, place_of(function)
    wanted = _body_arguments(function, annotated="annotations" in source.future_flags)
    if type(body) is not type(function) or body.decorator_list:
        raise NotProven(f"{name}: the kind of its body's function differs", place)
    if not alike(body.args, wanted):
        raise NotProven(f"{name}: its body's parameters differ", place)
    if getattr(wrapper, "name", None) != name:
        raise NotProven(f"{name}: its wrapper does not follow its body", place)
    if not alike(body.body, function.body):
        raise NotProven(f"{name}: its body changed", place)


def _body_arguments(node: FunctionNode, *, annotated: bool) -> ast.arguments:
    """The body's parameters: the function's without defaults; ``**keywords`` handed over as a plain dict."""
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
