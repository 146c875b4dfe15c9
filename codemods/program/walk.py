"""One walk over a file that finds its scopes and every use and binding of every name.

The tree is walked in step with CPython's symbol table, which alone decides whether a name is local, free or
global.
"""

from __future__ import annotations

import ast
import symtable
from collections import defaultdict, deque
from collections.abc import Sequence

from codemods.program.imports import bound_name
from codemods.program.nodes import Visitor, all_arguments, all_defaults, names_bound
from codemods.program.scopes import Binder, FunctionNode, Kind, Scope, ScopeTree, Use, mangle
from codemods.program.source import Source, SourceError

ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}
_KINDS: dict[type[ast.AST], Kind] = {
    ast.FunctionDef: "function",
    ast.AsyncFunctionDef: "function",
    ast.Lambda: "lambda",
    ast.ClassDef: "class",
    ast.ListComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.DictComp: "comprehension",
    ast.GeneratorExp: "generator",
}


def read_scopes(source: Source) -> ScopeTree:
    """The scopes of a file, with every use and binding of every name."""
    tree = ScopeTree(source)
    Walk(tree).whole()
    return tree


class Walk(Visitor):
    """Visits nodes in the compiler's order, so that scopes on one line meet their tables."""

    def __init__(self, tree: ScopeTree) -> None:
        super().__init__()
        self.tree = tree
        self.scope = tree.module
        self.tables = Tables(tree.source.table, tree.source.path)
        self.strings = "annotations" in tree.source.future_flags
        self.in_text = False

    def whole(self) -> None:
        """Walk the module."""
        fill(self.tree.module, self.tree.source.table)
        self.each(self.tree.source.tree.body)
        self.tables.finish()

    def bind(self, name: str, node: ast.AST, line: int) -> None:
        """Record a binding or unbinding made by the code of the current scope."""
        owner = self.tree.owner(self.scope, name)
        self.tree.binders[owner, mangle(name, self.scope.private)].append(Binder(node, self.scope, line))

    def do_Name(self, node: ast.Name) -> None:
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

    def do_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and node.value.isidentifier():
            self.tree.strings.setdefault(node.value, node.lineno)

    def do_JoinedStr(self, node: ast.JoinedStr) -> None:
        outer, self.in_text = self.in_text, True
        self.other(node)
        self.in_text = outer

    def do_Attribute(self, node: ast.Attribute) -> None:
        self.tree.attributes.setdefault(node.attr, node.lineno)
        if isinstance(node.value, ast.Name):
            self.use(node.value, None, node.attr)
        else:
            self.run(node.value)

    def do_Await(self, node: ast.Await | ast.YieldFrom) -> None:
        if isinstance(node.value, ast.Call):
            self.tree.awaited.add(node.value)
        self.run(node.value)

    def do_YieldFrom(self, node: ast.YieldFrom) -> None:
        self.tree.yields = True
        self.do_Await(node)

    def do_Yield(self, node: ast.Yield) -> None:
        self.tree.yields = True
        self.other(node)

    def do_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            self.use(node.func, node)
        else:
            self.run(node.func)
        self.run(*node.args, *(keyword.value for keyword in node.keywords))

    def do_NamedExpr(self, node: ast.NamedExpr) -> None:
        """The target is a variable of the function around comprehensions."""
        self.run(node.value)
        name = node.target.id
        around = self.scope.space
        owner = self.tree.owner(around, name)
        self.tree.binders[owner, mangle(name, around.private)].append(Binder(node, self.scope, node.lineno))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            self.use(load, None, written=False)
        self.other(node)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            if node.value is not None:
                self.bind(node.target.id, node, node.lineno)
        else:
            self.run(node.target)
        self.annotation(node.annotation)
        self.run(node.value)

    def annotation(self, node: ast.expr | None) -> None:
        """Visit an annotation, unless the future import makes it a mere string."""
        if node is None:
            return
        if not self.strings:
            self.run(node)
            return
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                self.tree.annotated.append(Use(part, self.scope))

    def do_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.tree.star_imports.append(node.lineno)
            else:
                self.bind(bound_name(alias), node, node.lineno)

    do_ImportFrom = do_Import

    def do_ExceptHandler(
        self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping
    ) -> None:
        for name in names_bound(node):
            self.bind(name, node, node.lineno)
        self.other(node)

    do_MatchAs = do_MatchStar = do_MatchMapping = do_ExceptHandler

    def do_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self.tree.declared[self.tree.module, name].append((node, self.scope))

    def do_Nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            owner = self.tree.owner(self.scope, name)
            self.tree.declared[owner, mangle(name, self.scope.private)].append((node, self.scope))

    def do_TypeAlias(self, node: ast.stmt) -> None:
        self.tree.generic.append(self.scope)
        self.run(node.name)  # type: ignore[attr-defined]
        self.other(node)

    def do_FunctionDef(self, node: FunctionNode) -> None:
        """A def: its name, defaults, annotations and decorators belong to the scope around it."""
        self.bind(node.name, node, node.lineno)
        self.run(*all_defaults(node.args))
        for argument in all_arguments(node.args):
            self.annotation(argument.annotation)
        self.annotation(node.returns)
        self.run(*node.decorator_list)
        self.inside(node, "function", node.name, node.body)

    do_AsyncFunctionDef = do_FunctionDef

    def do_Lambda(self, node: ast.Lambda) -> None:
        self.run(*all_defaults(node.args))
        self.inside(node, "function", "lambda", [node.body])

    def do_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, node, node.lineno)
        self.run(*node.bases, *(keyword.value for keyword in node.keywords), *node.decorator_list)
        self.inside(node, "class", node.name, node.body)

    def inside(
        self,
        node: FunctionNode | ast.Lambda | ast.ClassDef,
        kind: str,
        name: str,
        body: Sequence[ast.AST],
    ) -> None:
        """Visit the body of a scope that has a table."""
        table = self.tables.take(kind, name, node.lineno)
        scope = new_scope(self.scope, node, name)
        parameters = getattr(node, "type_params", ())
        self.run(*parameters)
        if parameters:
            self.tree.generic.append(scope)
        fill(scope, table)
        self.tree.by_node[node] = scope
        outer = self.scope, self.tables
        self.scope, self.tables = scope, Tables(table, self.tree.source.path)
        for argument in () if isinstance(node, ast.ClassDef) else all_arguments(node.args):
            self.bind(argument.arg, argument, argument.lineno)
        self.each(body)
        self.tables.finish()
        self.scope, self.tables = outer

    def do_ListComp(self, node: ComprehensionNode) -> None:
        """The first iterable belongs to the scope around; everything else to the comprehension."""
        first, *rest = node.generators
        self.run(first.iter)
        scope = new_scope(self.scope, node, "<comprehension>")
        self.tree.by_node[node] = scope
        for generator in node.generators:
            for name in ast.walk(generator.target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    scope.names[mangle(name.id, scope.private)] = "local"
        outer, self.scope = self.scope, scope
        self.run(first.target, *first.ifs)
        for generator in rest:
            self.run(generator.target, generator.iter, *generator.ifs)
        self.run(*([node.value, node.key] if isinstance(node, ast.DictComp) else [node.elt]))
        self.scope = outer

    do_SetComp = do_DictComp = do_GeneratorExp = do_ListComp


class Tables:
    """Hands out the symbol tables that belong to the scopes written directly inside one scope."""

    def __init__(self, table: symtable.SymbolTable, path: str) -> None:
        self.table = table
        self.path = path
        self._waiting: dict[tuple[str, str, int], deque[symtable.SymbolTable]] = defaultdict(deque)
        self._collect(table)

    def _collect(self, table: symtable.SymbolTable) -> None:
        for child in table.get_children():
            kind = str(child.get_type())
            if kind in ("function", "class"):
                # The only parameter of a comprehension is one that no program can name.
                inline = child.get_name() in _COMPREHENSIONS and ".0" in child.get_identifiers()
                if kind == "function" and inline:
                    self._collect(child)
                else:
                    self._waiting[kind, child.get_name(), child.get_lineno()].append(child)
            else:
                self._collect(child)

    def take(self, kind: str, name: str, line: int) -> symtable.SymbolTable:
        """The next table of that kind, name and line."""
        waiting = self._waiting[kind, name, line]
        if not waiting:
            raise SourceError(f"{self.path}:{line}: the symbol table has no entry for {name}")
        return waiting.popleft()

    def finish(self) -> None:
        """Check that all were taken."""
        for (_, name, line), waiting in self._waiting.items():
            if waiting:
                raise SourceError(f"{self.path}:{line}: {name} in the symbol table is not in the tree")


def fill(scope: Scope, table: symtable.SymbolTable) -> None:
    """Copy what the compiler knows about a scope's names."""
    if isinstance(table, symtable.Function):
        # A function's symbols one by one are looked up among all the functions in it.
        free, global_ = set(table.get_frees()), set(table.get_globals())
    else:
        symbols = table.get_symbols()
        free = {symbol.get_name() for symbol in symbols if symbol.is_free()}
        global_ = {symbol.get_name() for symbol in symbols if symbol.is_global()}
    for name in table.get_identifiers():
        scope.names[name] = "free" if name in free else "global" if name in global_ else "local"
    scope.free = frozenset(free)


def new_scope(parent: Scope, node: ast.AST, name: str) -> Scope:
    """A scope of the kind that its node makes."""
    private = node.name if isinstance(node, ast.ClassDef) else parent.private
    scope = Scope(_KINDS[type(node)], node, name, parent, private)
    parent.children.append(scope)
    return scope
