"""Calls that make the host wait for the device, with the loops they are in and the fence they come after.

By name alone: what a receiver is, is not inferred here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from codemods.device.waits import JOINS, READS, is_fence, sync_method
from codemods.program.nodes import DEFINITIONS, called_name, children
from codemods.program.source import all_blocks

# Loops and clauses of comprehensions, outermost first.
_Loops = tuple[ast.AST, ...]
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class SyncCall:
    """One such call.

    Attributes:
        line: of the call.
        text: the call, shortened.
        method: what waits (``item``, ``cpu``, ``to``, ``synchronize``).
        is_fence: whether everything queued before it is done after it.
        batched: whether it brings many values to the host at once, which were stacked or concatenated for it.
        function: qualified name of the function, of those inside the analysed one, that it stands in.
        loops: headers of the loops around it inside that function, outermost first.
        fence: line of the last fence before it in that function, or None; one under a condition (there is a
            device) or in a loop of its own (over streams) counts.
    """

    line: int
    text: str
    method: str
    is_fence: bool
    batched: bool
    function: str
    loops: tuple[str, ...]
    fence: int | None


def find_syncs(function: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> tuple[SyncCall, ...]:
    """Every such call in a function and in the functions inside it, in the order of the text."""
    found: list[SyncCall] = []
    _Scan(qualname, found).body(function.body, (), None)
    return tuple(sorted(found, key=lambda call: call.line))


class _Scan:
    """Walks one function's statements in order, with the loops around and the last fence passed; adds to
    ``found``.
    """

    def __init__(self, qualname: str, found: list[SyncCall]) -> None:
        self.qualname = qualname
        self.found = found

    def body(self, statements: list[ast.stmt], loops: _Loops, fence: int | None) -> int | None:
        """Walk a block; the last fence that was passed when it is done."""
        for statement in statements:
            fence = self.statement(statement, loops, fence)
        return fence

    def statement(self, node: ast.stmt, loops: _Loops, fence: int | None) -> int | None:
        if isinstance(node, DEFINITIONS):
            _Scan(f"{self.qualname}.{node.name}", self.found).body(node.body, (), None)
            return fence
        inner = (*loops, node) if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) else loops
        own = inner if isinstance(node, ast.While) else loops
        fence = self.expressions(node, own, fence)
        passed = fence
        for index, block in enumerate(all_blocks(node)):
            after = self.body(block, inner, fence)
            if index == 0:
                passed = after
        return passed

    def expressions(self, node: ast.AST, loops: _Loops, fence: int | None) -> int | None:
        """Walk what is right below a node, but for the statements of its blocks."""
        for child in children(node):
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                fence = self.expression(child, loops, fence)
        return fence

    def expression(self, node: ast.AST, loops: _Loops, fence: int | None) -> int | None:
        if isinstance(node, (ast.Name, ast.Constant)):
            return fence
        inner = loops
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            inner = (*loops, *node.generators)
        fence = self.expressions(node, inner, fence)
        method = sync_method(node) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and method is not None and not _on_host(node.func):
            line = node.func.end_lineno or node.lineno
            # What is read was put together from many values: `torch.stack(losses).tolist()`.
            joined = any(isinstance(n, ast.Call) and called_name(n) in JOINS for n in ast.walk(node.func))
            self.found.append(
                SyncCall(
                    line=line,
                    text=_short(node),
                    method=method,
                    is_fence=is_fence(method),
                    batched=not is_fence(method) and joined,
                    function=self.qualname,
                    loops=tuple(map(_header, loops)),
                    fence=fence,
                )
            )
            if is_fence(method):
                fence = line
        return fence


def _on_host(function: ast.expr) -> bool:
    """Tell whether a call is of what another has brought to the host: ``x.cpu().numpy()`` waits once."""
    while isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        earlier = function.value
        name = sync_method(earlier)
        if name in READS or name == "to":
            return True
        function = earlier.func
        if isinstance(function, ast.Attribute) and function.attr in ("cuda", "to"):
            return False
    return False


def _header(node: ast.AST) -> str:
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    assert isinstance(node, ast.While)
    return f"while {ast.unparse(node.test)}"


def _short(node: ast.Call) -> str:
    """A call, with the middle of a long receiver left out."""
    text = ast.unparse(node).replace("\n", " ")
    if len(text) <= _LONGEST:
        return text
    if not isinstance(node.func, ast.Attribute):
        return text[: _LONGEST - 1] + "…"
    receiver = ast.unparse(node.func.value).replace("\n", " ")
    call = text[len(receiver) :]
    room = _LONGEST - len(call)
    return text if len(receiver) <= room else receiver[: max(1, room - 1)] + "…" + call
