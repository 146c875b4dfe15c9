"""The one form in which lifted functions and their calls are compared: captures last, by name, sorted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from codemods.review.content import Function
from codemods.review.normal import normalised
from codemods.review.units import Unit, in_class

Definition = TypeVar("Definition", bound=ast.FunctionDef | ast.AsyncFunctionDef)
Node = TypeVar("Node", bound=ast.AST)
# Expressions that run no code of the program.
_STILL = (ast.Name, ast.Constant)


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names of all parameters."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [star for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return [argument.arg for argument in named]


def rewritten(
    node: Node, change: Callable[[ast.AST, ast.AST], ast.AST], gone: Collection[ast.AST] = ()
) -> Node:
    """A copy of a tree without some statements; each node is made by `change` of the old one and its copy."""
    fields: dict[str, Any] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            kept = [
                rewritten(i, change, gone) if isinstance(i, ast.AST) else i for i in value if i not in gone
            ]
            if value and not kept and isinstance(value[0], ast.stmt):
                kept = [ast.copy_location(ast.Pass(), value[0])]
            value = kept
        elif isinstance(value, ast.AST):
            value = rewritten(value, change, gone)
        fields[name] = value
    made = type(node)(**fields)
    if hasattr(node, "lineno"):
        ast.copy_location(made, node)
    return change(node, made)  # type: ignore[return-value]


def renamed(tree: Node, names: Mapping[str, str]) -> Node:
    """A copy of a tree with other names for some."""

    def change(_: ast.AST, copy: ast.AST) -> ast.AST:
        if isinstance(copy, ast.Name):
            copy.id = names.get(copy.id, copy.id)
        return copy

    return rewritten(tree, change)


def with_parameters(node: Definition, names: Iterable[str]) -> Definition:
    """A function with captures as its last keyword-only parameters; the node itself is changed."""
    for name in sorted(names):
        node.args.kwonlyargs.append(ast.copy_location(ast.arg(name), node))
        node.args.kw_defaults.append(None)
    return node


def with_captures(call: ast.Call, callee: str, names: Iterable[str]) -> ast.Call:
    """A call of a lifted function that passes captures under their own names; the node itself is changed."""
    call.func = ast.copy_location(ast.Name(callee, ast.Load()), call.func)
    return _passing(call, names)


def _passing(call: ast.Call, names: Iterable[str]) -> ast.Call:
    for name in sorted(names):
        value = ast.copy_location(ast.Name(name, ast.Load()), call)
        call.keywords.append(ast.copy_location(ast.keyword(name, value), call))
    return call


def regular_definition(node: Definition, captures: Collection[str]) -> Definition | None:
    """A function whose captures are its last parameters, by name only; None if one has a default."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    optional = positional[len(positional) - len(given.defaults) :]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    optional += [argument for argument, default in named if default is not None]
    if any(argument.arg in captures for argument in optional):
        return None
    made = rewritten(node, lambda _, copy: copy)
    arguments = made.args
    arguments.posonlyargs = [a for a in arguments.posonlyargs if a.arg not in captures]
    arguments.args = [a for a in arguments.args if a.arg not in captures]
    kept = [
        (argument, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if argument.arg not in captures
    ]
    arguments.kwonlyargs, arguments.kw_defaults = [a for a, _ in kept], [d for _, d in kept]
    return with_parameters(made, captures)


def regular_call(
    call: ast.Call, positional: Sequence[str], captures: Collection[str], unit: Unit
) -> ast.Call:
    """A call that passes each capture as the variable of its name, last; the call itself if it does not.

    `positional` are the function's positional parameters. A capture that is read before another argument runs
    something must be a variable that nothing binds meanwhile.
    """
    given: list[tuple[str | None, ast.expr]] = []
    for index, value in enumerate(call.args):
        name = positional[index] if index < len(positional) else None
        if any(isinstance(earlier, ast.Starred) for earlier in call.args[: index + 1]):
            name = None
        given.append((name, value))
    given += [(keyword.arg, keyword.value) for keyword in call.keywords]
    passed = [name for name, value in given if name in captures]
    if sorted(map(str, passed)) != sorted(captures):
        return call
    for index, (name, value) in enumerate(given):
        if name not in captures:
            continue
        if not isinstance(value, ast.Name) or value.id != name:
            return call
        later = [other for other_name, other in given[index + 1 :] if other_name not in captures]
        if not all(isinstance(other, _STILL) for other in later) and _may_change(value.id, call, unit):
            return call
    count = len(call.args)
    made = ast.copy_location(
        ast.Call(
            func=call.func,
            args=[value for name, value in given[:count] if name not in captures],
            keywords=[keyword for keyword in call.keywords if keyword.arg not in captures],
        ),
        call,
    )
    return _passing(made, captures)


def _may_change(name: str, call: ast.Call, unit: Unit) -> bool:
    """May a variable be bound again while the arguments of a call are worked out?"""
    if name in unit.globals or name in unit.content.mixed:
        return True
    if any(isinstance(node, ast.NamedExpr) and node.target.id == name for node in ast.walk(call)):
        return True
    nodes = ast.walk(unit.node)
    return any(isinstance(node, ast.Nonlocal | ast.Global) and name in node.names for node in nodes)


def with_statement(unit: Unit, statement: Function) -> Unit:
    """A unit with another statement in its place."""
    node = ast.Module([normalised(statement)], [])
    if unit.kind == "method":
        [shell] = unit.node.body
        assert isinstance(shell, ast.ClassDef)
        node = in_class(shell, node.body[0])
    return unit.with_node(ast.fix_missing_locations(node), (statement,))
