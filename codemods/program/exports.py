"""The names that a star import of a module brings, read from its text."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import sysconfig
from collections.abc import Collection
from pathlib import Path
from typing import Final

from codemods.program.nodes import names_bound, texts_of
from codemods.program.origins import absolute, imported
from codemods.program.repository import module_files
from codemods.program.source import SourceError, read_source

UNKNOWN: Final[frozenset[str]] = frozenset(["*"])
"""Any names at all."""

# What computes a module's names, so that its text does not list them.
_DYNAMIC = frozenset(["exec", "globals", "locals", "modules", "setattr", "vars"])
_DEEPEST = 12
_COMPILED = Path(sysconfig.get_path("platstdlib"), "lib-dynload")


class Exports:
    """Finds modules in some folders, then where the interpreter looks."""

    def __init__(self, bases: Collection[Path]) -> None:
        self.bases = [*dict.fromkeys(bases), *(Path(entry) for entry in sys.path if entry)]
        self._found: dict[str, frozenset[str]] = {}

    @property
    def asked(self) -> frozenset[str]:
        """The modules whose names were looked for, those behind star imports included."""
        return frozenset(self._found)

    def of(self, module: str, depth: int = 0) -> frozenset[str]:
        """The names, or `UNKNOWN`; a module that comes back to itself brings nothing new."""
        if depth > _DEEPEST:
            return UNKNOWN
        if module not in self._found:
            self._found[module] = frozenset()
            self._found[module] = self._of(module, depth)
        return self._found[module]

    def _of(self, module: str, depth: int) -> frozenset[str]:
        path = self._file(module)
        if path is None:
            return UNKNOWN if self._hidden(module) else _of_interpreter(module)
        try:
            tree = read_source(path).tree
        except SourceError:
            return UNKNOWN
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        bound, stars = set[str](), list[str]()
        lists: list[ast.AST] = []
        for node in ast.walk(tree):
            name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            if name in _DYNAMIC:
                return UNKNOWN
            bound.update(names_bound(node))
            match node:
                case ast.Name(id="__all__", ctx=ast.Store()) | ast.Attribute(value=ast.Name(id="__all__")):
                    lists.append(node)
                case ast.ImportFrom():
                    if any(a.name == "*" for a in node.names):
                        stars.append(absolute(node, package))
                    # Loading a submodule makes it an attribute of its package.
                    bound.add(absolute(node, package).rpartition(".")[2])
        listed = self._listed(tree, package, len(lists), depth)
        if listed is not None:
            return listed
        for star in stars:
            more = self.of(star, depth + 1)
            if more is UNKNOWN:
                return UNKNOWN
            bound |= more
        if path.name == "__init__.py":
            bound |= {entry.name.partition(".")[0] for entry in path.parent.iterdir()}
        return frozenset(name for name in bound if not name.startswith("_"))

    def _listed(self, tree: ast.Module, package: str, count: int, depth: int) -> frozenset[str] | None:
        """What ``__all__`` lists; None if the file has none."""
        if not count:
            return None
        found: set[str] = set()
        understood = 0
        where: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                where |= {a.asname or a.name: a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                where |= {made.bound: made.path.lstrip(".") for made in imported(node, package)}
        for node in ast.walk(tree):
            value: ast.expr | None = None
            match node:
                case ast.Assign(targets=[ast.Name("__all__")]) | ast.AnnAssign(target=ast.Name("__all__")):
                    value = node.value
                case ast.AugAssign(target=ast.Name("__all__"), op=ast.Add()):
                    value = node.value
                case ast.Call(func=ast.Attribute(value=ast.Name("__all__"), attr="append"), args=[one]):
                    value = ast.List([one])
                case ast.Call(func=ast.Attribute(value=ast.Name("__all__"), attr="extend"), args=[one]):
                    value = one
            if value is None:
                continue
            names = self._texts(value, where, depth)
            if names is None:
                return UNKNOWN
            understood += 1
            found |= names
        return frozenset(found) if understood == count else UNKNOWN

    def _texts(self, node: ast.expr, where: dict[str, str], depth: int) -> frozenset[str] | None:
        match node:
            case ast.List(elts) | ast.Tuple(elts):
                texts = texts_of(elts)
                return None if texts is None else frozenset(texts)
            case ast.BinOp(left, ast.Add(), right):
                first, second = self._texts(left, where, depth), self._texts(right, where, depth)
                return None if first is None or second is None else first | second
            case ast.Attribute(value, "__all__"):
                other = where.get(ast.unparse(value))
                found = UNKNOWN if other is None else self.of(other, depth + 1)
                return None if found is UNKNOWN else found
        return None

    def _hidden(self, module: str) -> bool:
        """Whether the program has a compiled module of that name itself."""
        places = (base for base in self.bases if base != _COMPILED)
        return any(True for base in places for _ in base.glob(f"{module}.*.so"))

    def _file(self, module: str) -> Path | None:
        parts = module.split(".")
        if not module or not all(part.isidentifier() for part in parts):
            return None
        for base in self.bases:
            for path in module_files(module, [base]):
                if path.is_file():
                    return path
            place = base.joinpath(*parts)
            if any(place.parent.glob(f"{place.name}.*.so")):
                return None
        return None


def _of_interpreter(module: str) -> frozenset[str]:
    """What a module of the standard library brings that has no text; it is asked itself."""
    if module not in sys.stdlib_module_names:
        return UNKNOWN
    spec = importlib.util.find_spec(module)
    if spec is None or (spec.origin != "built-in" and Path(spec.origin or "").parent != _COMPILED):
        return UNKNOWN
    try:
        loaded = importlib.import_module(module)
    except ImportError:
        # Nor can the program import it.
        return frozenset()
    listed = getattr(loaded, "__all__", None)
    return frozenset(listed if listed is not None else (n for n in dir(loaded) if not n.startswith("_")))
