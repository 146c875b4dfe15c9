"""The flow of control inside one frame, as a graph of the events that matter to its captured names.

Every edge that an execution could take is there; edges that none can take may be. A statement that this
module does not know is an error, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

from codemods.facts.events import Builder, Event, Finally, Loop, NotUnderstood
from codemods.facts.imports import bound_name
from codemods.facts.nodes import all_arguments, all_defaults, children
from codemods.facts.walk import ComprehensionNode


class Graph(Builder):
    """Built by walking the frame's statements in the order in which they run."""

    # Entry

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

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Run statements one after another."""
        for statement in statements:
            method = getattr(self, "do_" + type(statement).__name__, None)
            if method is None:
                raise NotUnderstood(statement)
            method(statement)

    # Expressions

    def expression(self, node: ast.AST | None) -> None:
        """Evaluate an expression from left to right."""
        if node is None:
            return
        kind = type(node)
        if kind is ast.Constant:
            return
        if kind not in self.methods:
            self.methods[kind] = getattr(self, "eval_" + kind.__name__, self._parts)
        self.methods[kind](node)

    def _parts(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            raise NotUnderstood(node)
        for child in children(node):
            self.expression(child)

    def eval_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if self._followed(node.id) is not None:
                self._mark(node)
        elif isinstance(node.ctx, ast.Store):
            self._bind(node.id, node.lineno)
        else:
            self._unbind(node.id, node.lineno)

    def eval_Call(self, node: ast.Call) -> None:
        self.expression(node.func)
        for argument in node.args:
            self.expression(argument)
        for keyword in node.keywords:
            self.expression(keyword.value)
        if node.func in self.points:
            self._mark(node)

    def eval_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.expression(node.value)
        scope = self.scope
        while self.scope.kind == "comprehension":
            assert self.scope.parent is not None
            self.scope = self.scope.parent
        self._bind(node.target.id, node.lineno)
        self.scope = scope

    def eval_BoolOp(self, node: ast.BoolOp) -> None:
        after = self._join()
        for value in node.values:
            self.expression(value)
            self._link(self.current, after)
        self.current = after

    def eval_Compare(self, node: ast.Compare) -> None:
        self.expression(node.left)
        after = self._join()
        for comparator in node.comparators:
            self.expression(comparator)
            self._link(self.current, after)
        self.current = after

    def eval_IfExp(self, node: ast.IfExp) -> None:
        self.expression(node.test)
        self._branch([lambda: self.expression(node.body), lambda: self.expression(node.orelse)])

    def eval_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            self.expression(key)
            self.expression(value)

    def eval_Lambda(self, node: ast.Lambda) -> None:
        for default in all_defaults(node.args):
            self.expression(default)
        self._mark(node)

    def eval_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        if self.tree.by_node[node].kind == "comprehension":
            self._comprehension(node, [node.elt])
            return
        self.expression(node.generators[0].iter)
        self._mark(node)

    def eval_ListComp(self, node: ast.ListComp | ast.SetComp) -> None:
        self._comprehension(node, [node.elt])

    eval_SetComp = eval_ListComp

    def eval_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, [node.key, node.value])

    def _comprehension(self, node: ComprehensionNode, elements: list[ast.expr]) -> None:
        self.expression(node.generators[0].iter)
        outer, self.scope = self.scope, self.tree.by_node[node]
        self._comprehend(node.generators, elements)
        self.scope = outer

    def _comprehend(self, generators: list[ast.comprehension], elements: list[ast.expr]) -> None:
        """Nested loops, each run any number of times; the first iterable was evaluated by the caller."""
        first, *rest = generators
        head, after = self._add(Event()), self._join()
        self._link(head, after)
        self.expression(first.target)
        for condition in first.ifs:
            self.expression(condition)
            self._link(self.current, head)
        if rest:
            self.expression(rest[0].iter)
            self._comprehend(rest, elements)
        else:
            for element in elements:
                self.expression(element)
        self._link(self.current, head)
        self.current = after

    # Simple statements

    def do_Expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self.expression(target)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._mark(node.target)
            self.expression(node.value)
            self._bind(node.target.id, node.lineno)
        else:
            self.expression(node.target)
            self.expression(node.value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.expression(node.value)
        if not isinstance(node.target, ast.Name) or node.value is not None:
            self.expression(node.target)
        if self.scope.kind in ("class", "module") and "annotations" not in self.tree.source.future_flags:
            self.expression(node.annotation)

    def do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.expression(target)

    def do_Pass(self, node: ast.stmt) -> None:
        """Nothing happens."""

    do_Global = do_Nonlocal = do_Pass

    def do_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._bind(bound_name(alias), node.lineno)

    do_ImportFrom = do_Import

    def do_Return(self, node: ast.Return) -> None:
        self.expression(node.value)
        self._jump("return")

    def do_Raise(self, node: ast.Raise) -> None:
        self.expression(node.exc)
        self.expression(node.cause)
        self.current = None

    def do_Assert(self, node: ast.Assert) -> None:
        """With ``-O`` not even the condition is evaluated."""

        def checked() -> None:
            self.expression(node.test)
            if node.msg is not None:
                fine = self.current
                self.expression(node.msg)
                self.current = fine

        self._optional(checked)

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
        for decorator in node.decorator_list:
            self.expression(decorator)
        for default in all_defaults(node.args):
            self.expression(default)
        if "annotations" not in self.tree.source.future_flags:
            for argument in all_arguments(node.args):
                self.expression(argument.annotation)
            self.expression(node.returns)
        if not top:
            self._mark(node)
        self._bind(node.name, node.lineno)

    do_AsyncFunctionDef = do_FunctionDef

    def do_ClassDef(self, node: ast.ClassDef) -> None:
        self._mark(node)
        for decorator in node.decorator_list:
            self.expression(decorator)
        for base in node.bases:
            self.expression(base)
        for keyword in node.keywords:
            self.expression(keyword.value)
        outer, self.scope = self.scope, self.tree.by_node[node]
        self.block(node.body)
        self.scope = outer
        self._bind(node.name, node.lineno)

    # Compound statements

    def do_If(self, node: ast.If) -> None:
        self.expression(node.test)
        self._branch([lambda: self.block(node.body), lambda: self.block(node.orelse)])

    def do_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.expression(node.iter)
        head, exit_ = self._add(Event()), self._join()
        self.contexts.append(Loop(exit_, head))
        self.expression(node.target)
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
        self.expression(node.test)
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
        self.expression(first.context_expr)
        if self.quiet(first.context_expr, self.scope):
            self.expression(first.optional_vars)
            self._with(rest, body)
            return
        swallowed, outer = self._join(), self.raising
        if outer is not None:
            self._link(swallowed, outer)
        self._link(self.current, swallowed)
        self.raising = swallowed
        self.expression(first.optional_vars)
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
            self.expression(handler.type)
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

    def do_Match(self, node: ast.Match) -> None:
        self.expression(node.subject)
        after = self._join()
        for case in node.cases:
            failed = self._join()
            self._pattern(case.pattern, failed)
            if not (isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None):
                self._link(self.current, failed)
            if case.guard is not None:
                self.expression(case.guard)
                self._link(self.current, failed)
            self.block(case.body)
            self._link(self.current, after)
            self.current = failed if failed in self.entered else None
        self._link(self.current, after)
        self.current = after if after in self.entered else None

    def _pattern(self, pattern: ast.pattern, failed: int) -> None:
        """A failed pattern may have bound names; each alternative of an or-pattern binds the same ones."""
        refutable = not (
            isinstance(pattern, ast.MatchStar)
            or (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)
        )
        if refutable:
            self._link(self.current, failed)
        if isinstance(pattern, ast.MatchOr):
            self._branch([partial(self._pattern, part, failed) for part in pattern.patterns])
            return
        for child in ast.iter_child_nodes(pattern):
            if isinstance(child, ast.pattern):
                self._pattern(child, failed)
            else:
                self.expression(child)
        name = pattern.rest if isinstance(pattern, ast.MatchMapping) else None
        if isinstance(pattern, (ast.MatchAs, ast.MatchStar)):
            name = pattern.name
        if name is not None:
            self._bind(name, pattern.lineno)
        if refutable:
            self._link(self.current, failed)
