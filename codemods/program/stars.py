"""Which names a file's star imports may bring, by the text of the files that they may mean."""

from __future__ import annotations

import ast
import re
import sys
from functools import partial
from pathlib import Path

from codemods.program.exports import UNKNOWN, Exports
from codemods.program.origins import absolute
from codemods.program.replaced import place_replacing
from codemods.program.repository import import_base, package_of
from codemods.program.scopes import ScopeTree
from codemods.program.source import decode_source, statements_in
from codemods.program.surroundings import Surroundings

# By these code gets at a module, or at its names, that it does not import.
_FAR = re.compile(
    rb"f_globals|f_locals|__globals__|\bexec\s*\(|\bmodules\b\s*\[|sys\s*\.\s*modules|import\s+modules"
    rb"|\bimportlib\b|__import__|ModuleType|meta_path|path_hooks|\bgetmodule\b|\bpkgutil\b|\brunpy\b|\bget_obj"
)
_SETS = re.compile(rb"setattr|setitem|__dict__|\bvars\s*\(|\bpatch\b|\bobject\s*\(")


def tell_stars(tree: ScopeTree, around: Surroundings) -> None:
    """Let a file's scopes know which names its star imports may bring."""
    tree.may_be_brought = partial(may_be_brought, around)


def may_be_brought(around: Surroundings, name: str) -> bool:
    """Whether a star import anywhere in a module may bind a name, or somebody put it where one takes it from.

    Told of files of the project and of the standard library; of other distributions versions differ.
    """
    names, modules = around.once("brought by stars", lambda: _brought(around))
    if names is UNKNOWN or name in names or any(_may_put(data, name) for _, data in around.files()):
        return True
    return place_replacing(around, {}, {f"{module}.{name}": True for module in modules}) is not None


def _may_put(data: bytes, name: str) -> bool:
    """Whether a file may set an attribute or a key of that name, of whatever."""
    word = re.escape(name.encode())
    if re.search(rb"\.\s*" + word + rb"\s*(?:[-+*/%&|^@<>]*=(?!=)|:)", data):
        return True
    return re.search(rb"['\"]" + word + rb"['\"]", data) is not None and _SETS.search(data) is not None


def _brought(around: Surroundings) -> tuple[frozenset[str], frozenset[str]]:
    """The names, or `UNKNOWN`, and the modules that are asked for them, those behind them included."""
    if any(_FAR.search(data) for _, data in around.files()):
        return UNKNOWN, frozenset()
    package = package_of(around.path, around.module.name)
    bound, modules = set[str](), set[str]()
    for node in statements_in(around.source.tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            module = absolute(node, package)
            files = _files(around, module)
            known = all(path.is_file() and path.read_bytes() == data for path, data, _ in files)
            if not known or not (files or module.partition(".")[0] in sys.stdlib_module_names):
                return UNKNOWN, frozenset()
            for base in dict.fromkeys(base for _, _, base in files) or [around.root]:
                exports = Exports([base, around.root, around.root / "src", import_base(around.path)])
                found = exports.of(module)
                if found is UNKNOWN:
                    return UNKNOWN, frozenset()
                bound |= found
                modules |= exports.asked
    if any(_is_handed_on(around, path, data) for m in modules for path, data, _ in _files(around, m)):
        return UNKNOWN, frozenset()
    return frozenset(bound), frozenset(modules)


def _is_handed_on(around: Surroundings, path: Path, data: bytes) -> bool:
    """Whether some file gives such a module itself, or its names, to others."""
    there = Surroundings(decode_source(data, str(path)), path, around.root, around.files)
    return there.is_given or there.look() is not None


def _files(around: Surroundings, module: str) -> list[tuple[Path, bytes, Path]]:
    """The files of the project that an import may mean, each with the folder it would be found from:
    ``sys.path`` is not known.
    """
    parts = tuple(module.split("."))
    found = []
    for path, data in around.files():
        spelled = path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts
        if spelled[-len(parts) :] == parts:
            found.append((path, data, Path(*spelled[: -len(parts)])))
    return found
