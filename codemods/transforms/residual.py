"""Split a helper in two: a function with its body, and a one-line closure that forwards to it.

The closure (the residual) keeps everything that a value shows: name, signature, defaults, annotations,
decorators, docstring, kind, identity. The function with the body is then only ever called, by the residual.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from codemods.analysis.helpers import Helper, is_generator
from codemods.analysis.scopes import FunctionNode
from codemods.analysis.source import Source
from codemods.transforms.edits import Edit, tokens
from codemods.transforms.items import header_items, line_limit
from codemods.transforms.lift import indentation, region
from codemods.transforms.proof import FUNCTIONS, NotProven, drop_statements


def split_edits(source: Source, helper: Helper, name: str) -> list[Edit]:
    """Edits that give the helper's body to a function ``name`` before it, and leave a residual."""
    node = helper.node
    start = source.offset(node.lineno, node.col_offset)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    top = source.starts[first - 1] + len(indentation(source, first))
    colon = _colon(source, node)
    indent, newline = indentation(source, node.lineno), source.newline
    inner = _inner_indent(source, node)
    lines = [indent + source.text[top : colon + 1]]
    documented = _documentation(node)
    if documented is not None:
        begin, end = source.span(documented)
        lines.append(inner + source.text[begin:end])
    lines.append(inner + _forward(node, name, line_limit(source) - len(inner), newline, inner))
    end = region(source, helper)[1]
    gap = "" if source.text[:end].endswith(("\n", "\r")) else newline
    residual = gap + newline + newline.join(lines) + newline
    return [
        Edit(top, start, ""),
        Edit(start, colon + 1, _header(source, node, name, len(indent))),
        Edit(end, end, residual),
    ]


def _colon(source: Source, node: FunctionNode) -> int:
    """Offset of the colon that ends a definition's header."""
    close = header_items(source, node).close
    depth = 0
    for token in tokens(source.lines[node.lineno - 1 :]):
        offset = source.starts[node.lineno - 2 + token.start[0]] + token.start[1]
        if offset <= close:
            continue
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
        elif token.string == ":" and not depth:
            return offset
    raise AssertionError("a definition without a colon")


def _inner_indent(source: Source, node: FunctionNode) -> str:
    """Indentation of a definition's body."""
    if node.body[0].lineno == node.lineno or source.lines[node.body[0].lineno - 1].strip() == "":
        return indentation(source, node.lineno) + "    "
    found = indentation(source, node.body[0].lineno)
    outer = indentation(source, node.lineno)
    return found if found.startswith(outer) and len(found) > len(outer) else outer + "    "


def _documentation(node: FunctionNode) -> ast.Expr | None:
    first = node.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first
    return None


def body_arguments(node: FunctionNode, *, annotated: bool) -> ast.arguments:
    """The body's parameters: the helper's without defaults; ``**keywords`` handed over as a plain dict."""
    arguments = copy.deepcopy(node.args)
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


def _header(source: Source, node: FunctionNode, name: str, column: int) -> str:
    annotated = "annotations" in source.future_flags
    arguments = ast.unparse(body_arguments(node, annotated=annotated))
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and annotated else ""
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    line = f"{keyword} {name}({arguments}){returns}:"
    if column + len(line) <= line_limit(source) or not arguments:
        return line
    indent = (
        " " * column if "\t" not in indentation(source, node.lineno) else indentation(source, node.lineno)
    )
    return f"{keyword} {name}({source.newline}{indent}    {arguments}{source.newline}{indent}){returns}:"


def _forward(node: FunctionNode, name: str, width: int, newline: str, indent: str) -> str:
    """The statement that forwards all parameters."""
    arguments = node.args
    given = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        given.append(f"*{arguments.vararg.arg}")
    given += [f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        given.append(f"{arguments.kwarg.arg}={arguments.kwarg.arg}")
    before, after = "return ", ""
    if isinstance(node, ast.AsyncFunctionDef):
        before += "await "
    elif is_generator(node):
        before, after = "return (yield from ", ")"
    line = f"{before}{name}({', '.join(given)}){after}"
    if len(line) <= width or not given:
        return line
    items = "".join(f"{newline}{indent}    {item}," for item in given)
    return f"{before}{name}({items}{newline}{indent}){after}"


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
    found: dict[Helper, int] = {}
    for node in ast.walk(after):
        for block in _blocks(node):
            for index, statement in enumerate(block):
                helper = names.get(getattr(statement, "name", ""))
                if helper is None or not isinstance(statement, FUNCTIONS) or index + 1 == len(block):
                    continue
                _prove_pair(helper, old, statement, block[index + 1])
                found[helper] = found.get(helper, 0) + 1
    for helper, name in splits.items():
        if found.get(helper) != 1:
            raise NotProven(f"{name} is defined {found.get(helper, 0)} times", helper)
    drop_statements(after, lambda s: isinstance(s, FUNCTIONS) and s.name in names)
    for node in ast.walk(before):
        if isinstance(node, FUNCTIONS) and (helper := places.get((node.lineno, node.col_offset))) is not None:
            _reduce(node, splits[helper])
    if ast.dump(before) != ast.dump(after):
        raise NotProven("something besides the split helpers differs")


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    return [
        block
        for field in ("body", "orelse", "finalbody")
        if isinstance(block := getattr(node, field, None), list)
    ]


def _reduce(node: FunctionNode, name: str) -> None:
    """Make of a helper what its residual must be."""
    documented = _documentation(node)
    forward = ast.parse(_forward(node, name, 10**6, "\n", "")).body
    node.body = ([documented] if documented is not None else []) + forward


def _prove_pair(helper: Helper, source: Source, body: ast.stmt, residual: ast.stmt) -> None:
    """Check one function with a body against the helper; the residual is compared with all that is left."""
    assert isinstance(body, FUNCTIONS)
    wanted = body_arguments(helper.node, annotated="annotations" in source.future_flags)
    if type(body) is not type(helper.node) or body.decorator_list:
        raise NotProven(f"{helper.name}: the kind of its body's function differs", helper)
    if ast.dump(body.args) != ast.dump(wanted):
        raise NotProven(f"{helper.name}: its body's parameters differ", helper)
    if getattr(residual, "name", None) != helper.name:
        raise NotProven(f"{helper.name}: its residual does not follow its body", helper)
    if [ast.dump(s) for s in body.body] != [ast.dump(s) for s in helper.node.body]:
        raise NotProven(f"{helper.name}: its body changed", helper)
