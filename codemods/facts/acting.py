"""What the statements of a file do when it is loaded, besides binding names: the modules that they load, and
what depends on when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codemods.facts.globals import is_type_checking
from codemods.facts.nodes import all_defaults, called, first_of, is_accessor, root_of
from codemods.facts.origins import imported
from codemods.facts.quiet import calls_back, is_plain, makes
from codemods.facts.source import all_blocks

_HOOKS = {"__init__", "__new__", "__post_init__", "_missing_"}
_CONTAINERS = ("dict", "frozenset", "list", "set", "sorted", "tuple")
_HARMLESS = (
    "logging.getLogger",
    "torch.compiler.disable",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.no_grad",
)
_LITERALS = (ast.Constant, ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Tuple)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Loads:
    """A module that a statement loads, and names that it takes from it; ``maybe``, if it only may run."""

    line: int
    module: str
    names: tuple[str, ...] = ()
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class Acts:
    """A statement that does something besides binding names."""

    line: int
    label: str


Step = Loads | Acts


class Text:
    """A file of a package as loading sees it, its statements read in order.

    Attributes:
        steps: what it does.
        bound: the names that it binds.
        literals: those of them that are texts or containers which it writes down.
        plain: those that are classes of which a base may be made without more being done.
        origins: where those come from that it imports.
    """

    def __init__(self, package: str, is_known: Callable[[str, str], bool]) -> None:
        """``is_known`` tells whether a name of another module is one of its literals, or plain classes."""
        self.package = package
        self.is_known = is_known
        self.steps: list[Step] = []
        self.bound: set[str] = set()
        self.literals: set[str] = set()
        self.plain: set[str] = set()
        self.origins: dict[str, str] = {}
        self.classes: dict[str, ast.ClassDef] = {}

    def read(self, tree: ast.Module) -> Text:
        """Read a whole file."""
        self.block(tree.body, maybe=False)
        self.plain = {name for name in self.classes if self.plain_base(ast.Name(name, ast.Load()))}
        return self

    def block(self, body: Sequence[ast.stmt], *, maybe: bool) -> None:
        for statement in body:
            self._statement(statement, maybe)

    def _statement(self, statement: ast.stmt, maybe: bool) -> None:
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._import(statement, maybe)
            case ast.If() if is_type_checking(statement.test):
                self.block(statement.orelse, maybe=maybe)
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try() | ast.TryStar() | ast.Match():
                self._compound(statement)
            case ast.ClassDef():
                self._class(statement, maybe)
            case _ if not self._is_quiet(statement):
                self.steps.append(Acts(statement.lineno, label_of(statement)))
        if isinstance(statement, (*_DEFINITIONS, ast.ClassDef)):
            self.bound.add(statement.name)
            self.origins.pop(statement.name, None)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.bound.add(node.id)
                    self.origins.pop(node.id, None)
                    self.literals.discard(node.id)
            self._literal(statement)

    def _literal(self, statement: ast.stmt) -> None:
        """Remember names of containers and texts that are written down, whose methods do nothing else."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ) if isinstance(value, _LITERALS) or self._container(value):
                self.literals.add(name)

    def _container(self, value: ast.expr | None) -> bool:
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return False
        return value.func.id in _CONTAINERS and value.func.id not in self.bound

    def _compound(self, statement: ast.stmt) -> None:
        """One whose blocks may run, or not, or often: what it does besides counts as one."""
        for name in ("test", "iter", "items", "subject"):
            asked = getattr(statement, name, None)
            for part in asked if isinstance(asked, list) else [asked]:
                if isinstance(part, ast.AST) and not self._quiet(part):
                    self.steps.append(Acts(statement.lineno, label_of(statement)))
        for block in all_blocks(statement):
            self.block(block, maybe=True)

    def _import(self, node: ast.Import | ast.ImportFrom, maybe: bool) -> None:
        made = imported(node, self.package)
        if isinstance(node, ast.Import):
            self.steps += [Loads(node.lineno, each.module, maybe=maybe) for each in made]
        elif made[0].module == "__future__":
            return
        else:
            names = tuple(alias.name for alias in node.names if alias.name != "*")
            self.steps.append(Loads(node.lineno, made[0].module, names, maybe))
        self.origins |= {each.bound: each.path for each in made}
        self.bound.update(each.bound for each in made)

    def _class(self, node: ast.ClassDef, maybe: bool) -> None:
        self.classes[node.name] = node
        kept = [self._decorator(decorator) for decorator in node.decorator_list]
        kept += [self.plain_base(base) for base in node.bases]
        kept += [keyword.arg == "metaclass" and self.plain_base(keyword.value) for keyword in node.keywords]
        for inner in node.body:
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                self._import(inner, maybe)
            elif isinstance(inner, ast.ClassDef):
                self._class(inner, maybe)
            else:
                kept.append(self._is_quiet(inner))
        if not all(kept):
            self.steps.append(Acts(node.lineno, label_of(node)))

    def _is_quiet(self, statement: ast.stmt) -> bool:
        """Whether a plain statement only binds what is the same whenever it is worked out."""
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                defaults = all(map(self._quiet, all_defaults(statement.args)))
                return defaults and all(map(self._decorator, statement.decorator_list))
            case ast.Assign(targets=targets, value=value):
                return all(isinstance(t, (ast.Name, ast.Tuple)) for t in targets) and self._quiet(value)
            case ast.AnnAssign(target=target, value=value):
                return isinstance(target, ast.Name) and (value is None or self._quiet(value))
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Global():
                return True
        return type(statement).__name__ == "TypeAlias"

    def _decorator(self, node: ast.expr) -> bool:
        """Whether what a decorator is called with is all that matters of it."""
        if is_accessor(node):
            return isinstance(node.value, ast.Name)
        return self._maker(called(node)) and self._quiet(node)

    def _quiet(self, value: ast.AST) -> bool:
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                if not self._maker(node.func) or calls_back(self._origin(node.func), node):
                    return False
            elif isinstance(node, (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)):
                return False
        return True

    def _maker(self, node: ast.expr) -> bool:
        """Whether calling something makes a value of its arguments and does nothing else."""
        root = root_of(node)
        if isinstance(root, ast.Constant):
            return True
        if not isinstance(root, ast.Name):
            return False
        whole = self._origin(node)
        if root.id in self.origins:
            if makes(whole) or whole in _HARMLESS:
                return True
            origin = self.origins[root.id]
            return isinstance(node, ast.Attribute) and node.value is root and self.is_known(origin, "literal")
        if root.id in self.literals and isinstance(node, ast.Attribute):
            return True
        if root is node and root.id in self.classes:
            return self._record(self.classes[root.id])
        return root.id not in self.bound and makes(whole)

    def _origin(self, node: ast.expr) -> str:
        """The dotted name of what is called; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.origins.get(node.id, node.id), *reversed(parts)])

    def _record(self, node: ast.ClassDef) -> bool:
        """Whether making an object of a class only keeps what is given."""
        own = {inner.name for inner in node.body if isinstance(inner, _DEFINITIONS)}
        roots = [called(kind) for kind in (*node.decorator_list, *node.bases)]
        names = {self.origins.get(root.id, "") for root in roots if isinstance(root, ast.Name)}
        made = names & {
            "dataclasses.dataclass",
            "typing.NamedTuple",
            "enum.Enum",
            "enum.IntEnum",
            "enum.StrEnum",
        }
        return bool(made) and not own & _HOOKS and all(map(self.plain_base, node.bases))

    def plain_base(self, node: ast.expr, inside: frozenset[str] = frozenset()) -> bool:
        """Does a class with this base do nothing more when it is made? `inside` are those that have it."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id in inside:
            return False
        if isinstance(node, ast.Name) and node.id in self.classes:
            own = self.classes[node.id]
            hooks = any(isinstance(n, _DEFINITIONS) and n.name == "__init_subclass__" for n in own.body)
            metas = [keyword.value for keyword in own.keywords if keyword.arg == "metaclass"]
            return not hooks and all(self.plain_base(b, inside | {node.id}) for b in (*own.bases, *metas))
        node = first_of(node)
        if not isinstance(node, ast.Name):
            return False
        if node.id in self.origins:
            origin = self.origins[node.id]
            return is_plain(origin) or self.is_known(origin, "class")
        return node.id not in self.bound


def label_of(statement: ast.stmt) -> str:
    """What an acting statement is known by, in whichever file it stands."""
    if isinstance(statement, (*_DEFINITIONS, ast.ClassDef)):
        return f"{type(statement).__name__} {statement.name}"
    return ast.dump(statement)
