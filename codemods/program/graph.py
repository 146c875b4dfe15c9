"""The flow of control inside one frame, as a graph of the events that matter to its captured names.

Every edge that an execution could take is there; edges that none can take may be. A statement that this
module does not know is an error, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from codemods.program.imports import bound_name
from codemods.program.nodes import Visitor, all_arguments, all_defaults, children
from codemods.program.scopes import Scope, ScopeTree, dotted, mangle
from codemods.program.source import words
from codemods.program.walk import ComprehensionNode

# Context managers that never swallow what their block raises.
_PASSING = words("""
    builtins.open contextlib.closing contextlib.nullcontext contextlib.redirect_stderr
    contextlib.redirect_stdout decimal.localcontext tempfile.NamedTemporaryFile tempfile.TemporaryDirectory
    tempfile.TemporaryFile threading.Condition threading.Lock threading.RLock threading.Semaphore
    warnings.catch_warnings torch.amp.autocast torch.autocast torch.autograd.profiler.record_function
    torch.autograd.set_detect_anomaly torch.autograd.set_grad_enabled torch.cuda.amp.autocast
    torch.cuda.device torch.cuda.stream torch.device torch.enable_grad torch.inference_mode torch.no_grad
    torch.profiler.record_function torch.random.fork_rng torch.set_grad_enabled
""")
# Statements that run their expressions from left to right, and do nothing else.
_PLAIN = (ast.Delete, ast.Expr, ast.Global, ast.Nonlocal, ast.Pass)


Jump = Literal["return", "break", "continue"]


class NotUnderstood(Exception):
    """A construct without a known flow of control; carries the node."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__(type(node).__name__)
        self.node = node


@dataclass(slots=True)
class Event:
    """A node of the graph: at most one name bound or unbound, then on to the successors."""

    bind: str | None = None
    unbind: str | None = None
    line: int = 0
    successors: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Loop:
    exit: int
    head: int


@dataclass(slots=True)
class Finally:
    entry: int
    jumps: set[Jump] = field(default_factory=set)


class Builder(Visitor):
    """Adds events one after another; ``current`` is the last, or None where control can't be."""

    def __init__(self, tree: ScopeTree, frame: Scope, names: frozenset[str]) -> None:
        """``names`` are followed."""
        super().__init__()
        self.tree = tree
        self.frame = frame
        self.names = names
        self.scope = frame
        self.events: list[Event] = [Event()]
        self.entered: set[int] = set()
        self.points: dict[ast.AST, list[int]] = {}
        self.current: int | None = 0
        self.raising: int | None = None
        self.contexts: list[Loop | Finally] = []
        self.end = self._join()

    @cached_property
    def before(self) -> list[list[int]]:
        """The events from which each comes next, once all are there."""
        found: list[list[int]] = [[] for _ in self.events]
        for index, event in enumerate(self.events):
            for successor in event.successors:
                found[successor].append(index)
        return found

    # Building blocks

    def _join(self) -> int:
        self.events.append(Event())
        return len(self.events) - 1

    def _link(self, start: int | None, end: int) -> None:
        if start is not None:
            self.events[start].successors.append(end)
            self.entered.add(end)

    def _add(self, event: Event) -> int:
        self.events.append(event)
        index = len(self.events) - 1
        self._link(self.current, index)
        if self.raising is not None:
            self._link(index, self.raising)
        self.current = index
        return index

    def _mark(self, node: ast.AST) -> None:
        """Make the state at this place available under the node."""
        self.points.setdefault(node, []).append(self._add(Event(line=getattr(node, "lineno", 0))))

    def _followed(self, name: str) -> str | None:
        """The frame's variable that a name means here, if it is followed."""
        name = mangle(name, self.scope.private)
        return name if name in self.names and self.tree.owner(self.scope, name) is self.frame else None

    def _bind(self, name: str, line: int) -> None:
        if (variable := self._followed(name)) is not None:
            self._add(Event(bind=variable, line=line))

    def _unbind(self, name: str, line: int) -> None:
        if (variable := self._followed(name)) is not None:
            self._add(Event(unbind=variable, line=line))

    def _branch(self, parts: Iterable[Callable[[], None]]) -> None:
        """Run exactly one of the parts."""
        start, after = self.current, self._join()
        for part in parts:
            self.current = start
            part()
            self._link(self.current, after)
        self.current = after if after in self.entered else None

    def _jump(self, kind: Jump) -> None:
        """Leave to the function's end or a loop, through the finally blocks on the way."""
        for context in reversed(self.contexts):
            if isinstance(context, Finally):
                context.jumps.add(kind)
                self._link(self.current, context.entry)
                break
            if kind != "return":
                self._link(self.current, context.exit if kind == "break" else context.head)
                break
        else:
            self._link(self.current, self.end)
        self.current = None


class Graph(Builder):
    """Built by walking the frame's statements in the order in which they run."""

    def build(self) -> Graph:
        """Walk the frame."""
        node = self.frame.node
        if not isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            raise NotUnderstood(node)
        if not isinstance(node, ast.Module):
            for argument in all_arguments(node.args):
                self._bind(argument.arg, argument.lineno)
        for statement in node.body:
            if not isinstance(node, ast.Module):
                self._mark(statement)
            self.block([statement])
        self._link(self.current, self.end)
        return self

    # Statements, one after another.
    block = Visitor.each

    def other(self, node: ast.AST) -> None:
        """An expression without a method of its own, from left to right; such a statement is not known."""
        if isinstance(node, ast.stmt) and not isinstance(node, _PLAIN):
            raise NotUnderstood(node)
        self.each(children(node))

    # Expressions

    def do_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if self._followed(node.id) is not None:
                self._mark(node)
        elif isinstance(node.ctx, ast.Store):
            self._bind(node.id, node.lineno)
        else:
            # What is not there can't be deleted.
            self._mark(node)
            self._unbind(node.id, node.lineno)

    def do_Call(self, node: ast.Call) -> None:
        self.run(node.func, *node.args, *(keyword.value for keyword in node.keywords))
        if node.func in self.points:
            self._mark(node)

    def do_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.run(node.value)
        scope = self.scope
        while self.scope.kind == "comprehension":
            assert self.scope.parent is not None
            self.scope = self.scope.parent
        self._bind(node.target.id, node.lineno)
        self.scope = scope

    def do_BoolOp(self, node: ast.BoolOp) -> None:
        self._until(node.values)

    def do_Compare(self, node: ast.Compare) -> None:
        self.run(node.left)
        self._until(node.comparators)

    def _until(self, values: Sequence[ast.expr]) -> None:
        """Expressions of which each may be the last that is evaluated."""
        after = self._join()
        for value in values:
            self.run(value)
            self._link(self.current, after)
        self.current = after

    def do_IfExp(self, node: ast.IfExp) -> None:
        self.run(node.test)
        self._branch([lambda: self.run(node.body), lambda: self.run(node.orelse)])

    def do_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            self.run(key, value)

    def do_Lambda(self, node: ast.Lambda) -> None:
        self.run(*all_defaults(node.args))
        self._mark(node)

    def do_ListComp(self, node: ComprehensionNode) -> None:
        inner = self.tree.by_node[node]
        self.run(node.generators[0].iter)
        if inner.kind == "generator":
            self._mark(node)
            return
        outer, self.scope = self.scope, inner
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._comprehend(node.generators, elements)
        self.scope = outer

    do_SetComp = do_DictComp = do_GeneratorExp = do_ListComp

    def _comprehend(self, generators: list[ast.comprehension], elements: list[ast.expr]) -> None:
        """Nested loops, each run any number of times; the first iterable was evaluated by the caller."""
        first, *rest = generators
        head, after = self._add(Event()), self._join()
        self._link(head, after)
        self.run(first.target)
        for condition in first.ifs:
            self.run(condition)
            self._link(self.current, head)
        if rest:
            self.run(rest[0].iter)
            self._comprehend(rest, elements)
        else:
            self.run(*elements)
        self._link(self.current, head)
        self.current = after

    # Simple statements

    def do_Assign(self, node: ast.Assign) -> None:
        self.run(node.value, *node.targets)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._mark(node.target)
            self.run(node.value)
            self._bind(node.target.id, node.lineno)
        else:
            self.run(node.target, node.value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.run(node.value)
        if not isinstance(node.target, ast.Name) or node.value is not None:
            self.run(node.target)
        if self.scope.kind in ("class", "module") and "annotations" not in self.tree.source.future_flags:
            self.run(node.annotation)

    def do_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._bind(bound_name(alias), node.lineno)

    do_ImportFrom = do_Import

    def do_Return(self, node: ast.Return) -> None:
        self.run(node.value)
        self._jump("return")

    def do_Raise(self, node: ast.Raise) -> None:
        self.run(node.exc, node.cause)
        self.current = None

    def do_Assert(self, node: ast.Assert) -> None:
        """With ``-O`` not even the condition is evaluated."""
        self._branch([lambda: self.run(node.test, node.msg), lambda: None])

    def do_Break(self, node: ast.Break) -> None:
        self._jump("break")

    def do_Continue(self, node: ast.Continue) -> None:
        self._jump("continue")

    # Definitions

    def do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        top = self.frame.kind == "module"
        if top:
            # Lifted functions stand before it, decorators included.
            self._mark(node)
        self.run(*node.decorator_list, *all_defaults(node.args))
        if "annotations" not in self.tree.source.future_flags:
            self.run(*(argument.annotation for argument in all_arguments(node.args)), node.returns)
        if not top:
            self._mark(node)
        self._bind(node.name, node.lineno)

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node: ast.ClassDef) -> None:
        self._mark(node)
        self.run(*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords))
        outer, self.scope = self.scope, self.tree.by_node[node]
        self.block(node.body)
        self.scope = outer
        self._bind(node.name, node.lineno)

    # Compound statements

    def do_If(self, node: ast.If) -> None:
        self.run(node.test)
        self._branch([lambda: self.block(node.body), lambda: self.block(node.orelse)])

    def do_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.run(node.iter)
        head, exit_ = self._add(Event()), self._join()
        self.contexts.append(Loop(exit_, head))
        self.run(node.target)
        self.block(node.body)
        self._link(self.current, head)
        self.contexts.pop()
        self.current = head
        self.block(node.orelse)
        self._link(self.current, exit_)
        self.current = exit_

    do_AsyncFor = do_For

    def do_While(self, node: ast.While) -> None:
        head, exit_ = self._add(Event()), self._join()
        self.run(node.test)
        tested = self.current
        self.contexts.append(Loop(exit_, head))
        self.block(node.body)
        self._link(self.current, head)
        self.contexts.pop()
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self.current = None if forever else tested
        self.block(node.orelse)
        self._link(self.current, exit_)
        self.current = exit_ if exit_ in self.entered else None

    def do_With(self, node: ast.With | ast.AsyncWith) -> None:
        self._with(node.items, node.body)

    do_AsyncWith = do_With

    def _with(self, items: list[ast.withitem], body: list[ast.stmt]) -> None:
        """A context manager may swallow what its block raises, and then the code after it runs."""
        if not items:
            self.block(body)
            return
        first, *rest = items
        self.run(first.context_expr)
        if lets_through(self.tree, self.scope, first.context_expr):
            self.run(first.optional_vars)
            self._with(rest, body)
            return
        swallowed, outer = self._join(), self.raising
        if outer is not None:
            self._link(swallowed, outer)
        self._link(self.current, swallowed)
        self.raising = swallowed
        self.run(first.optional_vars)
        self._with(rest, body)
        self.raising = outer
        after = self._join()
        self._link(self.current, after)
        self._link(swallowed, after)
        self.current = after

    def do_Try(self, node: ast.Try) -> None:
        if node.finalbody:
            self._finally(lambda: self._handled(node), lambda: self.block(node.finalbody))
        else:
            self._handled(node)

    do_TryStar = do_Try

    def _finally(self, body: Callable[[], None], final: Callable[[], None]) -> None:
        """The final part runs once after a normal end and once, separately, after any other."""
        context, outer = Finally(self._join()), self.raising
        self._link(self.current, context.entry)
        self.raising = context.entry
        self.contexts.append(context)
        body()
        self.contexts.pop()
        self.raising = outer
        if outer is not None:
            self._link(context.entry, outer)
        normal = self.current
        self.current = context.entry
        final()
        abrupt = self.current
        if outer is not None:
            self._link(abrupt, outer)
        for jump in sorted(context.jumps):
            self.current = abrupt
            self._jump(jump)
        self.current = normal
        if normal is not None:
            final()

    def _handled(self, node: ast.Try) -> None:
        raised, outer, after = self._join(), self.raising, self._join()
        self._link(self.current, raised)
        self.raising = raised
        self.block(node.body)
        self.raising = outer
        self.block(node.orelse)
        self._link(self.current, after)
        if outer is not None:
            self._link(raised, outer)
        star = type(node).__name__ == "TryStar"
        for handler in node.handlers:
            self.current = raised
            self.run(handler.type)
            self._handler(handler)
            self._link(self.current, after)
            if star:
                self._link(self.current, raised)
        self.current = after if after in self.entered else None

    def _handler(self, handler: ast.ExceptHandler) -> None:
        name = handler.name
        if name is None:
            self.block(handler.body)
            return
        self._bind(name, handler.lineno)
        self._finally(lambda: self.block(handler.body), lambda: self._unbind(name, handler.lineno))


def lets_through(tree: ScopeTree, scope: Scope, node: ast.expr) -> bool:
    """Tell whether a context manager expression surely lets exceptions of its block through."""
    if isinstance(node, ast.IfExp):
        return lets_through(tree, scope, node.body) and lets_through(tree, scope, node.orelse)
    if isinstance(node, ast.Call):
        return dotted(tree, scope, node.func) in _PASSING
    if isinstance(node, ast.Name):
        owner = tree.owner(scope, node.id)
        values = tree.values(owner, node.id)
        return bool(values) and all(
            isinstance(v, (ast.Call, ast.IfExp)) and lets_through(tree, owner, v) for v in values
        )
    return False
