"""Whether the project replaces or deletes what a definition names, by the time it is executed again."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from codemods.program.helpers import own_nodes
from codemods.program.nodes import called_name, names_bound
from codemods.program.origins import Names, resolve, walk
from codemods.program.patches import ANY_NAME, Replacing, replacing_of
from codemods.program.repository import ModuleName, file_or_none, module_name, package_of, says
from codemods.program.surroundings import Look, Surroundings

_SETTERS = frozenset(["__delattr__", "__setattr__", "delattr", "setattr"])
_DELETES = frozenset(["del", "delattr", "delitem"])
_AS_MAIN = re.compile(rb"import __main__|modules\[['\"]__main__['\"]\]")
_HINTS = re.compile(rb"setattr|delattr|patch|setitem|delitem|__dict__|vars\(")
_SETTERS_OF = re.compile(rb"setattr|delattr|setitem|delitem|object\s*\(|multiple\s*\(|vars\s*\(|__dict__")
_SETTER = re.compile(rb"(?:setattr|delattr|setitem|delitem|object|multiple|vars)\s*\(\s*\Z")
# What stands before an argument of a call, `f(` or `, name=`, and before a test that ends with a colon.
_CALLED = rb"(?<!\bfor)(?<!\bdel)(?<!\bas)(?<!\bin)(?<=\w)\("
_ARGUMENT = re.compile(rb"(?:" + _CALLED + rb"|[(,]\s*\w+=)\s*[\w.]*\Z")
_TESTED = re.compile(
    rb"(?:[=!]=|\bis|\bnot|\bif|\belif|\bwhile|\belse|\band|\bor|\blambda)\s+[\w.]*\Z|[{,]\s*[\w.]*\Z"
)
_BEFORE = 80


def place_replacing(
    around: Surroundings, names: Mapping[str, bool], paths: Mapping[str, bool]
) -> Look | None:
    """A place that replaces one of some names of the module, or what one of some dotted paths leads to.

    Those that map to False are only asked for: nothing but their deletion matters.
    """
    if not names and not paths:
        return None
    key = "replacing", frozenset(names.items()), frozenset(paths.items())
    return around.once(key, lambda: _place(around, names, paths))


def _place(around: Surroundings, names: Mapping[str, bool], paths: Mapping[str, bool]) -> Look | None:
    own = ModuleName(around.module.name, (*around.module.aliases, "__main__"))
    tail = around.module.name.rpartition(".")[2]
    for path, data in around.files():
        if path == around.path:
            continue
        near = says(data, tail) or _AS_MAIN.search(data) is not None
        far = [dotted for dotted in paths if may_replace(data, dotted)]
        hooked = b"def __getattr__" in data
        if not near and not far and not hooked:
            continue
        file = file_or_none(path, data, around.root)
        if file is None:
            # What can't be parsed runs nowhere.
            continue
        for line, what in _computed(file.tree, module_name(path, around.root), paths) if hooked else ():
            return Look(file.shown, line, what)
        wanted = {p: paths[p] for p in far}
        replacing = replacing_of(file.tree, file.package)
        for line, what in _in_file(replacing, own if near else None, names, wanted):
            return Look(file.shown, line, what)
    tree = around.source.tree
    package = package_of(around.path, around.module.name)
    replacing = replacing_of(tree, package)
    stores = around.once("own stores", lambda: list(_by_itself(tree, package)))
    itself = ((line, f"replaces {name}") for name, line in stores if name in names)
    for line, what in (*_in_file(replacing, own, names, paths), *itself):
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
    top, _, rest = dotted.partition(".")
    if top.encode() not in data:
        return False
    if rest.isidentifier():
        return _may_store(data, rest.encode()) or _may_set(data, top.encode(), rest.encode())
    for part in rest.split("."):
        word = re.escape(part.encode())
        if re.search(rb"\b" + word + rb"\b", data) and (
            _HINTS.search(data) or re.search(rb"\.\s*" + word + rb"\s*(?:=(?!=)|[,\])]|\bin\b)|\bdel\b", data)
        ):
            return True
    return False


def _may_store(data: bytes, word: bytes) -> bool:
    """Whether a statement may assign or delete an attribute of this name.

    Arguments of calls, of which a file may have hundreds, are told from elements of a target.
    """
    attribute = rb"\.\s*" + word
    if word not in data:
        return False
    if re.search(attribute + rb"\s*(?:[-+*/%&|^@<>]*=(?!=)|in\b)|\bdel\b[^\n]*" + attribute, data):
        return True
    for follows, before in ((rb"\s*(?:,|[)\]]+\s*(?:=(?!=)|,|in\b))", _ARGUMENT), (rb"\s*:", _TESTED)):
        for found in re.finditer(attribute + follows, data):
            if before.search(data[max(0, found.start() - _BEFORE) : found.start()]) is None:
                return True
    return False


def _may_set(data: bytes, top: bytes, word: bytes) -> bool:
    """Whether a call may replace or delete an attribute of this name of a module, or one of any name."""
    if re.search(word + rb"['\"]", data) and _HINTS.search(data):
        return True
    if not _SETTERS_OF.search(data):
        return False
    names = {top, *re.findall(top + rb"\s+as\s+(\w+)", data)}
    for found in re.finditer(rb"=\s*" + top + rb"\b(?!\.)", data):
        names |= set(re.findall(rb"(\w+)\s*\Z", data[max(0, found.start() - _BEFORE) : found.start()]))
    for found in re.finditer(b"(?:" + b"|".join(names) + rb")\s*(?:[,)'\"]|\.\s*__dict__)", data):
        before = data[max(0, found.start() - _BEFORE) : found.start()]
        if found[0].endswith((b"__dict__", b"'", b'"')) or _SETTER.search(before):
            return True
    return False


def _in_file(
    replacing: Replacing, own: ModuleName | None, names: Mapping[str, bool], paths: Mapping[str, bool]
) -> Iterator[tuple[int, str]]:
    if own is not None:
        for name, line, _, how in replacing.names_of(own):
            if name in (ANY_NAME, "__dict__") or _matters(name, how, names):
                yield line, f"replaces {name}"
    for top in sorted({dotted.partition(".")[0] for dotted in paths}):
        below = {d.partition(".")[2]: value for d, value in paths.items() if d.partition(".")[0] == top}
        for name, line, _, how in replacing.names_of(ModuleName(top)):
            if name == ANY_NAME or _matters(name, how, below):
                yield line, f"replaces {top}.{name}"


def _matters(name: str, how: str, wanted: Mapping[str, bool]) -> bool:
    known = name.removesuffix(f".{ANY_NAME}")
    return any(
        ((read == name and known == name) or read.startswith(known + ".")) and (value or how in _DELETES)
        for read, value in wanted.items()
    )


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
