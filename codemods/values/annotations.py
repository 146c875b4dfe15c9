"""The annotations of captures: of parameters, and of the fields of classes that hold captures.

An annotation is added where it is never evaluated: under the future import, or as text.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from functools import cached_property

from codemods.program.annotations import annotation_names, cannot_fail
from codemods.program.globals import globals_of
from codemods.program.imports import Import
from codemods.program.lifting import Analysis
from codemods.program.scopes import Scope
from codemods.values.classes import NONE, Stated, Variables

# Of these, a package's own name is enough to have what is below it.
_WHOLE = ("numpy", "torch")


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation in the names of the source, and what must be imported for those that it lacks."""

    node: ast.expr
    imports: frozenset[Import] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The names that it reads, in quotes or not."""
        return frozenset(annotation_names([self.node]))


class _Unknown(Exception):
    """There is no name for a type."""


class Annotations:
    """The annotations that captures of one file get."""

    def __init__(self, analysis: Analysis, stated: Stated, *, known: bool) -> None:
        """Unless any are ``known``, nothing gets one."""
        self.analysis = analysis
        self.tree = analysis.tree
        self.stated = stated
        self.known = known
        self.variables = Variables(analysis, stated)

    def of(self, name: str, owner: Scope) -> Annotation | None:
        """The annotation of a variable, of the values that it may have anywhere."""
        return self._inferred(name, owner) if self.known else None

    def of_result(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Annotation | None:
        """Return the declared result of a function of the module."""
        return self._copied(node.returns) if self.known and node.returns is not None else None

    def here(self, found: Annotation | None) -> ast.expr | None:
        """An annotation as it can stand in the source itself, without imports that the source lacks."""
        return None if found is None or found.imports else self.written(found)

    def written(self, found: Annotation) -> ast.expr:
        """An annotation as text, where it would be evaluated, unless it is a builtin alone."""
        evaluated = "annotations" not in self.analysis.source.future_flags
        as_text = evaluated and not cannot_fail(found.node)
        return ast.Constant(ast.unparse(found.node)) if as_text else found.node

    def imports(self, found: Annotation, rest: str) -> frozenset[Import]:
        """List imports that a file needs to mention it; names that the source defines are in ``rest``
        then.
        """
        made = set(found.imports)
        lacking = {item.bound for item in found.imports}
        for name in found.names - lacking:
            made.update(globals_of(self.analysis).elsewhere(name, self.stated.project.own.package, rest))
        return frozenset(made)

    def _inferred(self, name: str, owner: Scope) -> Annotation | None:
        declared = self.variables.declaration(name, owner)
        if declared is not None:
            return self._copied(declared)
        classes = self.variables.of(name, owner)
        if classes is None or classes == {NONE}:
            return None
        imports: set[Import] = set()
        try:
            # None comes last.
            text = " | ".join(self._named(each, imports) for each in sorted(classes, key=NONE.__eq__))
        except _Unknown:
            return None
        return Annotation(ast.parse(text, mode="eval").body, frozenset(imports))

    def _copied(self, stated: ast.expr) -> Annotation | None:
        """An annotation of the source, unless another file can't import what it names."""
        found, known = Annotation(stated), globals_of(self.analysis)
        named = map(known.look_up, found.names)
        return found if all(n.settled or n.origin in ("builtin", "import", "typing") for n in named) else None

    def _named(self, path: str, imports: set[Import]) -> str:
        """The name by which the source knows a class, or by which it is imported."""
        module, _, name = path.rpartition(".")
        if path == NONE:
            return path
        if module == "builtins":
            if not self.tree.is_builtin(self.tree.module, name):
                raise _Unknown
            return name
        for prefix in (path, module, *(top for top in _WHOLE if path.startswith(f"{top}."))):
            if known := next((known for known, whole in self._paths.items() if whole == prefix), None):
                return known + path.removeprefix(prefix)
        for known, whole in self._paths.items():
            if whole.rpartition(".")[2] == name and self.stated.project.settled(whole) == path:
                return known
        wanted = Import(module, name)
        taken = (self.tree.module, name) in self.tree.binders or hasattr(builtins, name)
        if not module or taken or (self.tree.module, name) in self.tree.uses:
            raise _Unknown
        imports.add(wanted)
        return name

    @cached_property
    def _paths(self) -> dict[str, str]:
        """Map the source's own imports and classes to dotted paths."""
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
