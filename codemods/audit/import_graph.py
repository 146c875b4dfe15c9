"""Which modules of a repository import which, read from the text: at import time, or inside a function.

Only the files on the way are parsed, and nothing is imported. What happens not at import time (under
``TYPE_CHECKING``, in functions) is left out; an import of ``a.b.c`` runs ``a`` and ``a.b`` first.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codemods.program.globals import is_type_checking
from codemods.program.imports import with_packages
from codemods.program.origins import imported
from codemods.program.repository import module_files, package_of
from codemods.program.source import SourceError, all_blocks, read_source, statements_in
from codemods.program.words import words

HEAVY = words("""
    cv2 datasets diffusers gymnasium jax jaxlib keras lightning matplotlib numba numpy pandas PIL plotly
    polars pyarrow pytorch_lightning ray scipy seaborn skimage sklearn sympy tensorboard tensorflow timm
    tokenizers torch torchaudio torchvision transformers triton wandb xgboost
""")
"""Distributions whose import alone takes a noticeable time."""


@dataclass(frozen=True, slots=True)
class LazyImport:
    """A name imported inside the function, and why it can't be imported at the top.

    Attributes:
        name: the local name.
        target: the module it comes from, or is.
        line: of the import statement.
        cycle: modules from the target back to the importing one, each importing the next at import time;
            empty if there is no such cycle, None if the repository was not searched.
        deferred: whether importing the module does not import the target anyway; None if not searched.
    """

    name: str
    target: str
    line: int
    cycle: tuple[str, ...] | None
    deferred: bool | None


@dataclass(frozen=True, slots=True)
class Pulled:
    """What importing the module imports.

    Attributes:
        modules: modules of the repository, itself left out, sorted.
        heavy: for every heavy distribution a shortest chain of modules that leads to it, itself last.
        third_party: top-level names of all other third-party imports, sorted.
    """

    modules: tuple[str, ...]
    heavy: tuple[tuple[str, ...], ...]
    third_party: tuple[str, ...]


class ImportGraph:
    """Modules below some source folders, each parsed when it is first reached."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders
        self._files: dict[str, Path | None] = {}
        self._imports: dict[str, tuple[str, ...]] = {}
        self._chains: dict[str, dict[str, tuple[str, ...]]] = {}

    def file(self, module: str) -> Path | None:
        """The file of a module, or None if it is not of this repository."""
        if module not in self._files:
            files = module_files(module, self.folders)
            self._files[module] = next((path for path in files if path.is_file()), None)
        return self._files[module]

    def imports(self, module: str) -> tuple[str, ...]:
        """Modules that importing ``module`` imports directly, in order; none for outside ones."""
        if module not in self._imports:
            path = self.file(module)
            self._imports[module] = () if path is None else self._read(path, module)
        return self._imports[module]

    def _read(self, path: Path, module: str) -> tuple[str, ...]:
        try:
            tree = read_source(path).tree
        except SourceError:
            return ()
        found: list[str] = []
        for node in eager_imports(tree.body):
            for target in self.targets(node, package_of(path, module)):
                found += with_packages(target)
        return tuple(dict.fromkeys(name for name in found if name != module))

    def targets(self, node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
        """The modules that one statement names; a name imported from a package may be a module in it."""
        found = imported(node, package)
        below = [made.path for made in found if made.name is not None and self.file(made.path) is not None]
        return [*dict.fromkeys(made.module for made in found), *below]

    def chains(self, start: str) -> dict[str, tuple[str, ...]]:
        """Every module that importing ``start`` imports, with a shortest chain that leads there."""
        if start in self._chains:
            return self._chains[start]
        found: dict[str, tuple[str, ...]] = {start: (start,)}
        waiting = deque([start])
        while waiting:
            module = waiting.popleft()
            for target in self.imports(module):
                if target not in found:
                    found[target] = (*found[module], target)
                    waiting.append(target)
        self._chains[start] = found
        return found


def eager_imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements that run when the module is imported."""
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, ast.If) and (is_type_checking(node.test) or _is_main(node.test)):
            yield from eager_imports(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for block in all_blocks(node):
                yield from eager_imports(block)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def lazy_imports(
    function: ast.AST, module: str, package: str, graph: ImportGraph | None
) -> tuple[LazyImport, ...]:
    """Every name imported anywhere inside a function, with the cycle that importing it on top would close."""
    found = []
    anyway = {} if graph is None else graph.chains(module)
    for node in statements_in(function):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for made in imported(node, package):
            below = graph is not None and made.name is not None and graph.file(made.path) is not None
            target = made.path if below else made.module
            cycle = None if graph is None else graph.chains(target).get(module, ())
            deferred = None if graph is None else target not in anyway
            found.append(LazyImport(made.bound, target, node.lineno, cycle, deferred))
    return tuple(sorted(found, key=lambda item: (item.line, item.name)))


def pulled_in(module: str, graph: ImportGraph) -> Pulled:
    """What importing a module imports, transitively through the repository's own modules."""
    chains = graph.chains(module)
    own: list[str] = []
    heavy: dict[str, tuple[str, ...]] = {}
    light: set[str] = set()
    for name, chain in chains.items():
        if name == module:
            continue
        # A folder without `__init__.py` that holds modules of the repository is one as well.
        if graph.file(name) or any(base.joinpath(*name.split(".")).is_dir() for base in graph.folders):
            own.append(name)
            continue
        top = name.partition(".")[0]
        if top in HEAVY:
            heavy.setdefault(top, (*chain[:-1], top))
        elif top not in sys.stdlib_module_names:
            light.add(top)
    return Pulled(tuple(sorted(own)), tuple(heavy[name] for name in sorted(heavy)), tuple(sorted(light)))


def source_folders(path: Path, module: str, root: Path) -> tuple[Path, ...]:
    """Folders from which the repository's modules are imported: the file's own, the root, and ``src``."""
    own = path.resolve().parents[len(module.split(".")) - (0 if path.name == "__init__.py" else 1)]
    candidates = [own, root.resolve() / "src", root.resolve()]
    return tuple(dict.fromkeys(folder for folder in candidates if folder.is_dir()))
