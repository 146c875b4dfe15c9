"""The annotations of captures: of parameters, and of the fields of classes that hold captures.

An annotation is added where it is never evaluated: under the future import, or as text.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from codemods.program.annotations import cannot_fail, plain_names
from codemods.program.globals import globals_of
from codemods.program.imports import Import
from codemods.program.lifting import Analysis
from codemods.program.scopes import Scope
from codemods.values import Style
from codemods.values.stated import Stated
from codemods.values.types import ANY, LITERAL, PARAMETERS, UNION, Type
from codemods.values.variables import Variables

# Of these, a package's own name is enough to have what is below it.
_WHOLE = ("numpy", "torch")


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation in the names of the source, and what must be imported for those that it lacks."""

    node: ast.expr
    imports: frozenset[Import] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The names that it reads."""
        return frozenset(part.id for part in ast.walk(self.node) if isinstance(part, ast.Name))


class _Unknown(Exception):
    """There is no name for a type."""


class Annotations:
    """The annotations that captures of one file get."""

    def __init__(self, analysis: Analysis, stated: Stated, style: Style) -> None:
        self.analysis = analysis
        self.tree = analysis.tree
        self.stated = stated
        self.style = style
        self.variables = Variables(analysis, stated)

    def of(self, name: str, owner: Scope) -> Annotation | None:
        """The annotation of a variable, of the values that it may have anywhere."""
        return None if self.style == "none" else self._inferred(name, owner)

    def of_result(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Annotation | None:
        """What a function of the module says that it returns."""
        stated = node.returns
        if self.style == "none" or stated is None:
            return None
        names = plain_names(stated)
        return None if names is None or not all(map(self._is_known, names)) else Annotation(stated)

    @property
    def fallback(self) -> Annotation | None:
        """What stands where nothing is known."""
        return self.anything if self.style == "any" else None

    def here(self, found: Annotation | None, taken: Collection[str] = ()) -> ast.expr | None:
        """An annotation as it can stand in the source itself, without imports that the source lacks."""
        if found is None or found.imports or not found.names.isdisjoint(taken):
            return None
        return self.written(found)

    def written(self, found: Annotation) -> ast.expr:
        """An annotation as text, where it would be evaluated, unless it is a builtin alone."""
        evaluated = "annotations" not in self.analysis.source.future_flags
        as_text = evaluated and not cannot_fail(found.node)
        return ast.Constant(ast.unparse(found.node)) if as_text else found.node

    def imports(self, found: Annotation, rest: str) -> frozenset[Import]:
        """What a file must import to mention it; what the source defines is in ``rest`` then."""
        made = set(found.imports)
        lacking = {item.bound for item in found.imports}
        for name in found.names - lacking:
            made.update(globals_of(self.analysis).elsewhere(name, self.stated.project.own.package, rest))
        return frozenset(made)

    @property
    def anything(self) -> Annotation:
        """``Any``, by whichever name."""
        try:
            return self._rendered(ANY)
        except _Unknown:
            return Annotation(ast.Name("Any", ast.Load()), frozenset([Import("typing", "Any")]))

    def _inferred(self, name: str, owner: Scope) -> Annotation | None:
        kind = self.variables.of(name, owner)
        if kind is None or kind.path == "None":
            return None
        declared = self.variables.declaration(name, owner)
        if declared is not None and self.stated.annotation(declared, self.stated.project.own) == kind:
            names = plain_names(declared)
            if names is not None and all(map(self._is_known, names)):
                return Annotation(declared)
        try:
            return self._rendered(kind)
        except _Unknown:
            return None

    def _is_known(self, name: str) -> bool:
        """Whether another file can import what a name of the source stands for."""
        found = globals_of(self.analysis).look_up(name)
        return found.origin in ("builtin", "import", "typing") or found.settled

    # From types to names

    def _rendered(self, kind: Type) -> Annotation:
        imports: set[Import] = set()
        text = self._text(kind, imports)
        return Annotation(ast.parse(text, mode="eval").body, frozenset(imports))

    def _text(self, kind: Type, imports: set[Import]) -> str:
        """A type as an annotation writes it."""
        if kind.path in ("None", "...") or kind.path.startswith(LITERAL):
            return kind.path.removeprefix(LITERAL)
        args = [self._text(argument, imports) for argument in kind.args]
        if kind.path == UNION:
            return " | ".join(args)
        if kind.path == PARAMETERS:
            return f"[{', '.join(args)}]"
        base = self._named(kind, imports)
        return f"{base}[{', '.join(args)}]" if args else base

    def _named(self, kind: Type, imports: set[Import]) -> str:
        """The name by which the source knows a class, or by which it is imported."""
        module, _, name = kind.path.rpartition(".")
        if module == "builtins":
            if not self.tree.is_builtin(self.tree.module, name):
                raise _Unknown
            return name
        for path in dict.fromkeys((kind.path, kind.spelled)):
            for known, prefix in self._prefixes(path):
                return known + path.removeprefix(prefix)
        for known in self._by_last.get(name, ()):
            if self.stated.project.settled(self._paths[known]) == kind.path:
                return known
        wanted = Import(*(kind.spelled or kind.path).rpartition(".")[::2])
        taken = (self.tree.module, wanted.bound) in self.tree.binders or hasattr(builtins, wanted.bound)
        if not wanted.module or taken or (self.tree.module, wanted.bound) in self.tree.uses:
            raise _Unknown
        imports.add(wanted)
        return wanted.bound

    def _prefixes(self, path: str) -> list[tuple[str, str]]:
        """Names of the source for a path, or for the module that has it."""
        found = [(known, path) for known, whole in self._paths.items() if whole == path]
        module = path.rpartition(".")[0]
        parents = [module] + [top for top in _WHOLE if path.startswith(f"{top}.")]
        return found + [
            (known, parent) for parent in parents for known, whole in self._paths.items() if whole == parent
        ]

    @cached_property
    def _paths(self) -> dict[str, str]:
        """What the source's own imports and classes stand for."""
        known, own = globals_of(self.analysis), self.stated.project.own
        found = {}
        for owner, name in self.tree.binders:
            if owner is not self.tree.module:
                continue
            origin = known.look_up(name)
            if origin.origin in ("import", "typing") or origin.settled:
                path = own.path(ast.Name(name, ast.Load()))
                if path is not None:
                    found[name] = path
        return found

    @cached_property
    def _by_last(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, path in self._paths.items():
            found.setdefault(path.rpartition(".")[2], []).append(name)
        return found
