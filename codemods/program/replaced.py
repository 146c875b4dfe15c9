"""Whether the project replaces or deletes what an expression names, by the time it is evaluated again."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from codemods.program.helpers import own_nodes
from codemods.program.nodes import called_name, names_bound
from codemods.program.origins import Names, resolve, walk
from codemods.program.patches import ANY_NAME, Replacing, replacing_of
from codemods.program.repository import ModuleName, file_or_none, module_name, package_of, says
from codemods.program.surroundings import Look, Surroundings

_SETTERS = frozenset(["__delattr__", "__setattr__", "delattr", "setattr"])
_AS_MAIN = re.compile(rb"import __main__|modules\[['\"]__main__['\"]\]")
_HINTS = re.compile(rb"setattr|delattr|patch|setitem|delitem|object\s*\(|__dict__|vars\s*\(")


def place_replacing(around: Surroundings, names: Collection[str], paths: Collection[str]) -> Look | None:
    """A place that replaces one of some names of the module, or what one of some dotted paths leads to."""
    if not names and not paths:
        return None
    key = "replacing", frozenset(names), frozenset(paths)
    return around.once(key, lambda: _place(around, names, paths))


def _place(around: Surroundings, names: Collection[str], paths: Collection[str]) -> Look | None:
    own = ModuleName(around.module.name, (*around.module.aliases, "__main__"))
    tail = around.module.name.rpartition(".")[2]
    for path, data in around.files():
        if path == around.path:
            continue
        near = says(data, tail) or _AS_MAIN.search(data) is not None
        far = [dotted for dotted in paths if may_replace(data, dotted)]
        hooked = b"def __getattr__" in data
        # What can't be parsed runs nowhere.
        file = file_or_none(path, data, around.root) if near or far or hooked else None
        if file is None:
            continue
        for line, what in _computed(file.tree, module_name(path, around.root), paths) if hooked else ():
            return Look(file.shown, line, what)
        replacing = replacing_of(file.tree, file.package)
        for line, what in _in_file(replacing, own if near else None, names, far):
            return Look(file.shown, line, what)
    tree = around.source.tree
    package = package_of(around.path, around.module.name)
    stores = around.once("own stores", lambda: list(_by_itself(tree, package)))
    itself = ((line, f"replaces {name}") for name, line in stores if name in names)
    for line, what in (*_in_file(replacing_of(tree, package), own, names, paths), *itself):
        return Look(around.source.path, line, what)
    return None


def _computed(tree: ast.Module, module: ModuleName, paths: Collection[str]) -> Iterator[tuple[int, str]]:
    """Attributes of a module that its own function computes, where it does not bind them itself."""
    bound = {name for node in own_nodes(tree.body) for name in names_bound(node)}
    for path in paths:
        name = (module.within(path) or "").partition(".")[0]
        for hook in tree.body if name and name not in bound else ():
            if isinstance(hook, ast.FunctionDef) and hook.name == "__getattr__":
                yield hook.lineno, f"computes {path}"


def may_replace(data: bytes, dotted: str) -> bool:
    """Whether a file's bytes may hold a replacement of what a path leads to."""
    top, *parts = dotted.split(".")
    return top.encode() in data and any(_may_set(data, part.encode()) for part in parts)


def _may_set(data: bytes, word: bytes) -> bool:
    """Whether a statement may assign or delete an attribute of this name, or a call its text."""
    if word not in data:
        return False
    attribute = rb"\.\s*" + re.escape(word) + rb"\b"
    stored = attribute + rb"\s*(?:[-+*/%&|^@<>]*=(?!=)|in\b|,[^()\n]*=(?!=))"
    if re.search(stored + rb"|\bdel\b[^\n]*" + attribute, data):
        return True
    return re.search(rb"['\".]" + re.escape(word) + rb"['\"]", data) is not None and bool(_HINTS.search(data))


def _in_file(
    replacing: Replacing, own: ModuleName | None, names: Collection[str], paths: Collection[str]
) -> Iterator[tuple[int, str]]:
    if own is not None:
        for name, line, *_ in replacing.names_of(own):
            if name in (ANY_NAME, "__dict__") or _matters(name, names):
                yield line, f"replaces {name}"
    for top in sorted({dotted.partition(".")[0] for dotted in paths}):
        below = [dotted.partition(".")[2] for dotted in paths if dotted.partition(".")[0] == top]
        for name, line, *_ in replacing.names_of(ModuleName(top)):
            if name == ANY_NAME or _matters(name, below):
                yield line, f"replaces {top}.{name}"


def _matters(name: str, wanted: Collection[str]) -> bool:
    known = name.removesuffix(f".{ANY_NAME}")
    return any(read == known or read.startswith(f"{known}.") for read in wanted)


def _by_itself(tree: ast.Module, package: str) -> Iterator[tuple[str, int]]:
    """Names that a module may replace itself, with the line: ``sys.modules[__name__].C = ...``."""
    for node, scope in walk(tree, package):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()) if _may_be_module(node.value, scope):
                yield name, node.lineno
            case ast.Call(args=[given, ast.Constant(str(name)), *_]) if called_name(node) in _SETTERS:
                if _may_be_module(given, scope):
                    yield name, node.lineno


def _may_be_module(node: ast.expr, scope: Names) -> bool:
    """Whether an expression of which the imports tell nothing may be the module itself."""
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return False
    return resolve(node, scope) is None
