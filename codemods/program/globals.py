"""Where the globals of a file come from, and what that means for code that moves to another file."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from codemods.program.imports import Import, bound_name, imports_of
from codemods.program.lifting import Analysis, Helper
from codemods.program.modules import effects_of
from codemods.program.nodes import ANY_NAME, all_defaults
from codemods.program.scopes import Scope

Origin = Literal["builtin", "import", "typing", "own", "identity", "star", "builtin or star", "unknown"]
ImportNode = ast.Import | ast.ImportFrom

IDENTITY = frozenset(
    ["__name__", "__file__", "__package__", "__spec__", "__loader__", "__path__", "__doc__", "__cached__"]
)


@dataclass(frozen=True, slots=True)
class GlobalName:
    """One global: where it comes from; its import statements; whether more than its one binding may change
    it.

    ``rebound`` is the line of an assignment inside a function, which may happen at any time; ``repeated`` of
    a second binding while the module is loaded, which may be a star import; ``starred`` of a star import
    that may bring it where the file binds it not at all, or imports it above.
    """

    name: str
    origin: Origin
    imports: tuple[ImportNode, ...] = ()
    rebound: int | None = None
    repeated: int | None = None
    starred: int | None = None

    @property
    def settled(self) -> bool:
        """Tell whether the file itself binds it, once and for all."""
        return self.origin == "own" and self.rebound is None and self.repeated is None


class Globals:
    """Looks up the globals of one file."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.tree = analysis.tree
        self._found: dict[str, GlobalName] = {}
        self._above: dict[int, tuple[list[ast.stmt], list[int]]] = {}
        self._typing: set[ast.AST] = set()
        self._plain: set[ast.AST] = set(analysis.source.tree.body)
        for statement in analysis.source.tree.body:
            if isinstance(statement, ast.If) and is_type_checking(statement.test):
                self._typing.update(statement.body)

    def look_up(self, name: str) -> GlobalName:
        """Return what is known about a global name."""
        if name not in self._found:
            self._found[name] = self._look_up(name)
        return self._found[name]

    def imports(self, name: str, package: str) -> list[Import]:
        """List the imports of a global in a file of a package; nothing for others."""
        return [made for node in self.look_up(name).imports for made in imports_of(node, name, package)]

    def elsewhere(self, name: str, package: str, home: str) -> list[Import]:
        """List imports that another file needs to have a global: what the file itself makes comes from
        ``home``.
        """
        own = self.look_up(name).origin == "own"
        return [Import(home, name)] if own else self.imports(name, package)

    def _look_up(self, name: str) -> GlobalName:
        binders, stars = self.tree.binders.get((self.tree.module, name), []), self.tree.star_imports
        if not binders:
            # One of several star imports may bind what another has bound.
            repeated, starred = next(iter(stars[1:]), None), next(iter(stars), None)
            return GlobalName(name, self._unbound(name), (), None, repeated, starred)
        rebound = next((b.line for b in binders if b.scope.frame() is not self.tree.module), None)
        nodes = [binder.node for binder in binders]
        imports = tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
        if len(imports) == len(nodes) and rebound is None:
            if all(node in self._plain for node in imports) and self._same_thing(name, imports):
                starred = next((line for line in stars if line > imports[0].lineno), None)
                return GlobalName(name, "import", imports, starred=starred)
            if all(node in self._typing for node in imports):
                return GlobalName(name, "typing", imports)
        repeated = binders[1].line if len(binders) > 1 else binders[0].line if stars else None
        return GlobalName(name, "own", (), rebound, repeated)

    def _unbound(self, name: str) -> Origin:
        if name in IDENTITY:
            return "identity"
        if self.tree.is_builtin(self.tree.module, name):
            return "builtin"
        if not self.tree.star_imports:
            return "unknown"
        return "builtin or star" if hasattr(builtins, name) else "star"

    def _same_thing(self, name: str, imports: tuple[ImportNode, ...]) -> bool:
        """Tell whether several imports bind one name to one thing, as ``import a`` and ``import a.b`` do."""
        return len(imports) == 1 or all(
            isinstance(node, ast.Import)
            and all(alias.asname is None for alias in node.names if bound_name(alias) == name)
            for node in imports
        )

    def read_in(self, scope: Scope) -> dict[str, int]:
        """Globals (and builtins) that code in a scope reads when it runs, with the line of a read."""
        return dict(self._reads.get(scope, {}))

    def defining(self, helper: Helper) -> dict[str, int]:
        """Globals (and builtins) that the decorators and defaults of a helper read, with the line."""
        parts = [*helper.node.decorator_list, *all_defaults(helper.node.args)]
        names = (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
        return {name.id: name.lineno for name in names}

    def fallbacks_in(self, scope: Scope) -> dict[str, int]:
        """Names that a class body in a scope binds and reads, and that the module binds too.

        Before the class body has bound such a name, reading it gives the module's.
        """
        return {
            name: use.node.lineno
            for (owner, name), uses in self.tree.uses.items()
            if owner.kind == "class" and owner.inside(scope) and (self.tree.module, name) in self.tree.binders
            for use in uses
            if use.scope is owner
        }

    @cached_property
    def _reads(self) -> dict[Scope, dict[str, int]]:
        found: dict[Scope, dict[str, int]] = {}
        for (owner, name), uses in self.tree.uses.items():
            if owner is self.tree.module:
                for use in uses:
                    for scope in use.scope.ancestors():
                        found.setdefault(scope, {}).setdefault(name, use.node.lineno)
        return found

    def passed_to(self, helper: Helper, seams: frozenset[str]) -> frozenset[str]:
        """Globals that a helper moved out of the file must be handed.

        These are what the file makes itself or a star import may bring, its seams, and imports that another
        file can't repeat.
        """
        line = helper.top.lineno
        return frozenset(name for name in self.read_in(helper.scope) if self.is_passed(name, seams, line))

    def is_passed(self, name: str, seams: frozenset[str], root_line: int) -> bool:
        """Tell whether code at a line must be handed a global once it has left the file."""
        known = self.look_up(name)
        seam = (known.origin in ("import", "builtin", "builtin or star") and name in seams) or (
            known.origin == "import" and ANY_NAME in seams
        )
        return known.origin in ("own", "star") or seam or not self.repeatable(known, root_line)

    def repeatable(self, known: GlobalName, root_line: int) -> bool:
        """Tell whether a file that is imported after the last import before a line would import the same
        thing.

        Not if the source's own code between its imports may change a module's names, or where modules are.
        """
        if root_line not in self._above:
            self._above[root_line] = self._found_above(root_line)
        before, active = self._above[root_line]
        if any(_replaces_modules(before[i]) for i in active):
            return False
        for node in known.imports:
            if known.origin == "typing":
                continue
            if node not in before:
                return False
            at = before.index(node)
            if any(i < at for i in active) or (isinstance(node, ast.ImportFrom) and active):
                return False
        return True

    def _found_above(self, line: int) -> tuple[list[ast.stmt], list[int]]:
        """List the statements above a line, and the numbers of those that act before its last import."""
        before = [s for s in self.analysis.source.tree.body if s.lineno < line]
        plain = [i for i, s in enumerate(before) if isinstance(s, (ast.Import, ast.ImportFrom))]
        effects = effects_of(self.tree)
        acts = (effects.runs([s], imports=False) for s in before[: plain[-1] if plain else 0])
        return before, [number for number, runs in enumerate(acts) if runs]


def _replaces_modules(statement: ast.stmt) -> bool:
    """Tell whether a statement may put another module in the place of one that is loaded."""
    return any(isinstance(node, ast.Attribute) and node.attr == "modules" for node in ast.walk(statement))


def globals_of(analysis: Analysis) -> Globals:
    """The globals of a file, looked up once."""
    return analysis.tree.once("globals", lambda: Globals(analysis))


def is_type_checking(test: ast.expr) -> bool:
    """Tell whether a condition is ``TYPE_CHECKING`` in one of its spellings."""
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"
