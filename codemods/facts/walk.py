"""One walk over a file that finds its scopes and every use and binding of every name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from codemods.facts.imports import bound_name
from codemods.facts.nodes import all_arguments, all_defaults, children
from codemods.facts.scopes import (
    Binder,
    FunctionNode,
    Scope,
    ScopeTree,
    Tables,
    Use,
    fill,
    mangle,
    new_scope,
)
from codemods.facts.source import Source

ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def read_scopes(source: Source) -> ScopeTree:
    """The scopes of a file, with every use and binding of every name."""
    tree = ScopeTree(source)
    Walk(tree).run()
    tree.bound_names = {name for _, name in tree.binders}
    return tree


class Walk:
    """Visits nodes in the compiler's order, so that scopes on one line meet their tables."""

    def __init__(self, tree: ScopeTree) -> None:
        self.tree = tree
        self.scope = tree.module
        self.tables = Tables(tree.source.table, tree.source.path)
        self.strings = "annotations" in tree.source.future_flags
        self.open: list[tuple[Scope, Tables]] = []
        self.in_text = False
        self.lazy = False
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.methods: dict[type[ast.AST], Callable[[Any], None]] = {}

    def run(self) -> None:
        """Walk the module."""
        fill(self.tree.module, self.tree.source.table)
        for statement in self.tree.source.tree.body:
            self.visit(statement)
        self.tables.finish()
        for call, scope in self.calls:
            if self.tree.consumes(scope, call.func):
                argument = self.tree.by_node.get(call.args[0])
                if argument is not None and argument.kind == "generator":
                    argument.kind = "comprehension"

    def visit(self, node: ast.AST) -> None:
        """Visit one node."""
        kind = type(node)
        if kind not in self.methods:
            self.methods[kind] = getattr(self, "visit_" + kind.__name__, self.children)
        self.methods[kind](node)

    def children(self, node: ast.AST) -> None:
        """Visit a node's fields in order."""
        for child in children(node):
            self.visit(child)

    def bind(self, name: str, node: ast.AST, line: int) -> None:
        """Record a binding or unbinding made by the code of the current scope."""
        owner = self.tree.owner(self.scope, name)
        self.tree.binders[owner, mangle(name, self.scope.private)].append(Binder(node, self.scope, line))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.use(node, None)
        else:
            self.bind(node.id, node, node.lineno)

    def use(
        self, node: ast.Name, call: ast.Call | None, attribute: str | None = None, *, written: bool = True
    ) -> None:
        """Record a load of a name, and the call of which it is the callee, or the attribute taken from it."""
        owner = self.tree.owner(self.scope, node.id)
        use = Use(node, self.scope, call, attribute, self.in_text, written)
        self.tree.uses[owner, mangle(node.id, self.scope.private)].append(use)
        if self.lazy and owner.kind != "module":
            self.tree.lazy.append(use)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and node.value.isidentifier():
            self.tree.strings.setdefault(node.value, node.lineno)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        outer, self.in_text = self.in_text, True
        self.children(node)
        self.in_text = outer

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.tree.attributes.setdefault(node.attr, node.lineno)
        if isinstance(node.value, ast.Name):
            self.use(node.value, None, node.attr)
        else:
            self.visit(node.value)

    def visit_Await(self, node: ast.Await | ast.YieldFrom) -> None:
        if isinstance(node.value, ast.Call):
            self.tree.awaited.add(node.value)
        self.visit(node.value)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self.tree.yields = True
        self.visit_Await(node)

    def visit_Yield(self, node: ast.Yield) -> None:
        self.tree.yields = True
        self.children(node)

    def visit_Call(self, node: ast.Call) -> None:
        if len(node.args) == 1 and not node.keywords:
            self.calls.append((node, self.scope))
        if isinstance(node.func, ast.Name):
            self.use(node.func, node)
        else:
            self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            self.visit(keyword.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """The target is a variable of the function around comprehensions."""
        self.visit(node.value)
        name = node.target.id
        around = next(s for s in self.scope.ancestors() if s.kind not in ("comprehension", "generator"))
        owner = self.tree.owner(around, name)
        self.tree.binders[owner, mangle(name, around.private)].append(Binder(node, self.scope, node.lineno))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            self.use(load, None, written=False)
        self.children(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            if node.value is not None:
                self.bind(node.target.id, node, node.lineno)
        else:
            self.visit(node.target)
        self.annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def annotation(self, node: ast.expr | None) -> None:
        """Visit an annotation, unless the future import makes it a mere string."""
        if node is None:
            return
        if not self.strings:
            self.visit(node)
            return
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                self.tree.annotated.append(Use(part, self.scope))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.tree.star_imports.append(node.lineno)
            else:
                self.bind(bound_name(alias), node, node.lineno)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self.bind(node.name, node, node.lineno)
        for statement in node.body:
            self.visit(statement)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self.bind(node.name, node, node.lineno)
        self.children(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            self.tree.attributes.setdefault(name, node.lineno)
        self.children(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.children(node)
        if node.rest is not None:
            self.bind(node.rest, node, node.lineno)

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self.tree.declared[self.tree.module, name].append((node, self.scope))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            owner = self.tree.owner(self.scope, name)
            self.tree.declared[owner, mangle(name, self.scope.private)].append((node, self.scope))

    def later(self, node: ast.AST) -> None:
        """Visit what is evaluated when it is asked for: what type parameters and a type alias stand for."""
        outer, self.lazy = self.lazy, True
        for parameter in getattr(node, "type_params", ()):
            self.visit(parameter)
        if type(node).__name__ == "TypeAlias":
            self.visit(node.value)  # type: ignore[attr-defined]
        self.lazy = outer

    def visit_TypeAlias(self, node: ast.stmt) -> None:
        self.visit(node.name)  # type: ignore[attr-defined]
        self.later(node)

    def visit_FunctionDef(self, node: FunctionNode) -> None:
        """A def: its name, defaults, annotations and decorators belong to the scope around it."""
        self.bind(node.name, node, node.lineno)
        for default in all_defaults(node.args):
            self.visit(default)
        for argument in all_arguments(node.args):
            self.annotation(argument.annotation)
        self.annotation(node.returns)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.later(node)
        self.enter(node, "function", node.name, node.lineno)
        for argument in all_arguments(node.args):
            self.bind(argument.arg, argument, argument.lineno)
        self.leave(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in all_defaults(node.args):
            self.visit(default)
        self.enter(node, "function", "lambda", node.lineno)
        for argument in all_arguments(node.args):
            self.bind(argument.arg, argument, argument.lineno)
        self.leave([node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, node, node.lineno)
        for base in node.bases:
            self.visit(base)
        for keyword in node.keywords:
            self.visit(keyword.value)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.later(node)
        self.enter(node, "class", node.name, node.lineno)
        self.leave(node.body)

    def enter(self, node: ast.AST, kind: str, name: str, line: int) -> None:
        """Open a scope that has a table."""
        table, typed = self.tables.take(kind, name, line)
        scope = new_scope(self.scope, node, name)
        scope.has_type_params = typed
        fill(scope, table)
        self.tree.by_node[node] = scope
        self.open.append((self.scope, self.tables))
        self.scope = scope
        self.tables = Tables(table, self.tree.source.path)

    def leave(self, body: list[ast.stmt] | list[ast.expr]) -> None:
        """Visit the body and close the scope."""
        for item in body:
            self.visit(item)
        self.tables.finish()
        self.scope, self.tables = self.open.pop()

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self.comprehension(node, [node.elt])

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self.comprehension(node, [node.value, node.key])

    def comprehension(self, node: ComprehensionNode, elements: list[ast.expr]) -> None:
        """The first iterable belongs to the scope around; everything else to the comprehension."""
        first, *rest = node.generators
        self.visit(first.iter)
        scope = new_scope(self.scope, node, "<comprehension>")
        self.tree.by_node[node] = scope
        for generator in node.generators:
            for name in ast.walk(generator.target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    scope.names[mangle(name.id, scope.private)] = "local"
        outer, self.scope = self.scope, scope
        self.visit(first.target)
        for condition in first.ifs:
            self.visit(condition)
        for generator in rest:
            self.visit(generator.target)
            self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        for element in elements:
            self.visit(element)
        self.scope = outer
