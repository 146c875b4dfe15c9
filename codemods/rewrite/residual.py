"""Split a helper in two: a function with its body, and a one-line closure that forwards to it.

The closure (the residual) keeps everything that a value shows: name, signature, defaults, annotations,
decorators, docstring, kind, identity. The function with the body is then only ever called, by the residual.
"""

from __future__ import annotations

import ast

from codemods.decide.splits import body_arguments
from codemods.facts.helpers import Helper, is_generator
from codemods.facts.scopes import FunctionNode
from codemods.facts.source import Source
from codemods.rewrite.edits import Edit, tokens
from codemods.rewrite.items import header_items, line_limit
from codemods.rewrite.lift import indentation, region


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
