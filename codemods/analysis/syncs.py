"""Calls that make the host wait for the device, with the loops they are in and the fence they come after.

By name alone: what a receiver is, is not inferred here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.analysis.waits import is_fence, sync_method


@dataclass(frozen=True, slots=True)
class SyncCall:
    """One such call.

    Attributes:
        line: of the call.
        text: the call, shortened.
        method: what waits (``item``, ``cpu``, ``to``, ``synchronize``).
        is_fence: whether everything queued before it is done after it.
        function: qualified name of the function, of those inside the analysed one, that it stands in.
        loops: headers of the loops around it inside that function, outermost first.
        fence: line of the last fence before it in that function, or None; one under a condition (there is a
            device) or in a loop of its own (over streams) counts.
    """

    line: int
    text: str
    method: str
    is_fence: bool
    function: str
    loops: tuple[str, ...]
    fence: int | None


def find_syncs(function: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> tuple[SyncCall, ...]:
    """Every such call in a function and in the functions inside it, in the order of the text."""
    return tuple(sorted(_Scan(qualname).body(function.body, (), None)[0], key=lambda call: call.line))


class _Scan:
    """Walks one function's statements in order, with the loops around and the last fence passed."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    def body(
        self, statements: list[ast.stmt], loops: tuple[str, ...], fence: int | None
    ) -> tuple[list[SyncCall], int | None]:
        """The calls in a block, and the last fence that was passed when it is done."""
        found: list[SyncCall] = []
        for statement in statements:
            calls, fence = self.statement(statement, loops, fence)
            found += calls
        return found, fence

    def statement(
        self, node: ast.stmt, loops: tuple[str, ...], fence: int | None
    ) -> tuple[list[SyncCall], int | None]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return _Scan(f"{self.qualname}.{node.name}").body(node.body, (), None)[0], fence
        inner = (*loops, _header(node)) if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) else loops
        found: list[SyncCall] = []
        for expression, repeated in _own_expressions(node):
            calls, fence = self.expression(expression, inner if repeated else loops, fence)
            found += calls
        passed = fence
        for index, block in enumerate(_blocks(node)):
            calls, after = self.body(block, inner, fence)
            found += calls
            if index == 0:
                passed = after
        return found, passed

    def expression(
        self, node: ast.expr, loops: tuple[str, ...], fence: int | None
    ) -> tuple[list[SyncCall], int | None]:
        found: list[SyncCall] = []
        own = loops
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            own = (*loops, *(_clause(generator) for generator in node.generators))
        for child in ast.iter_child_nodes(node):
            for expression in _expressions(child):
                calls, fence = self.expression(expression, own, fence)
                found += calls
        if isinstance(node, ast.Call):
            method = sync_method(node)
            if method is not None:
                fence_here = is_fence(method)
                line = node.func.end_lineno or node.lineno
                found.append(SyncCall(line, _short(node), method, fence_here, self.qualname, loops, fence))
                if fence_here:
                    fence = line
        return found, fence


def _own_expressions(node: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """The expressions of a statement itself; whether its loop repeats them."""
    for name, value in ast.iter_fields(node):
        if name in ("body", "orelse", "finalbody", "handlers", "cases"):
            continue
        repeated = isinstance(node, ast.While)
        for item in value if isinstance(value, list) else [value]:
            yield from ((expression, repeated) for expression in _expressions(item))


def _expressions(node: object) -> Iterator[ast.expr]:
    if isinstance(node, ast.expr):
        yield node
    elif isinstance(node, (ast.withitem, ast.keyword, ast.comprehension, ast.arguments)):
        for child in ast.iter_child_nodes(node):
            yield from _expressions(child)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _header(node: ast.stmt) -> str:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    assert isinstance(node, ast.While)
    return f"while {ast.unparse(node.test)}"


def _clause(generator: ast.comprehension) -> str:
    return f"for {ast.unparse(generator.target)} in {ast.unparse(generator.iter)}"


def _short(node: ast.Call, limit: int = 60) -> str:
    """A call, with the middle of a long receiver left out."""
    text = ast.unparse(node).replace("\n", " ")
    if len(text) <= limit or not isinstance(node.func, ast.Attribute):
        return text if len(text) <= limit else text[: limit - 1] + "…"
    receiver = ast.unparse(node.func.value).replace("\n", " ")
    call = text[len(receiver) :]
    return (
        text if len(receiver) <= limit - len(call) else receiver[: max(1, limit - len(call) - 1)] + "…" + call
    )
