"""Names, modules and packages that files outside the change miss, or meet anew, when they import from it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from codemods.review.content import imports_in
from codemods.review.file import OF_A_MODULE, File
from codemods.review.match import Matching
from codemods.review.namespace import StarImports
from codemods.review.report import Lost, Met
from codemods.review.side import Side, Unknown
from codemods.review.statements import identity
from codemods.review.trees import Tree, below
from codemods.review.units import MODULE

_INITIAL = "__init__.py"
# A module that binds one of these answers for names that it does not bind.
_ANSWERS = ("__getattr__", "*")


def lost(base: Side, head: Side, matching: Matching) -> list[Lost]:
    """Names, and modules as `<module>`, that files import from the change and that are not there any more as
    they were.
    """
    gone = {path: _gone(base, head, matching, path, file) for path, file in base.changed.items()}
    users: dict[tuple[str, str], list[str]] = {}
    for path in _asking(base, head, gone):
        for found in base.names_used(path):
            if found[1] in gone.get(found[0], ()) or _came_by_star(base, head, matching, gone, *found):
                users.setdefault(found, []).append(path)
    stars = StarImports(base.tree)
    for path, names in gone.items():
        every = names & base.changed[path].exported
        for user in stars.of(path) if every else ():
            exported = {name for name in every if not _still_brought(base, head, matching, user, name)}
            if exported and user in head.tree.identities:
                # All of them at once: which of them such a file uses is not told by it.
                users.setdefault((path, ", ".join(sorted(exported))), []).append(user)
    known = {found for file in base.changed.values() for found in _dead(base, file)}
    for path, file in head.changed.items():
        for found in _dead(head, file) - known:
            if _surely(head.tree, path, found[0]) or _was_there(base, *found):
                users.setdefault(found, []).append(path)
    return [
        Lost(path, name, files, identity("lost", path, name, *files))
        for (path, name), files in sorted((key, tuple(dict.fromkeys(each))) for key, each in users.items())
    ]


def _came_by_star(
    base: Side, head: Side, matching: Matching, gone: dict[str, set[str]], path: str, name: str
) -> bool:
    """Did a module have a name by star imports, which bring other things now?"""
    if "*" not in gone.get(path, ()) or name in (MODULE, "*") or name in base.changed[path].bound:
        return False
    before = base.meaning(path, name)
    return not isinstance(before, Unknown) and not matching.same(before, head.meaning(path, name))


def _still_brought(base: Side, head: Side, matching: Matching, user: str, name: str) -> bool:
    """Does a file get the same thing by a name as before, whatever star import brings it?"""
    return head.file(user) is not None and matching.same(base.meaning(user, name), head.meaning(user, name))


def _gone(base: Side, head: Side, matching: Matching, path: str, file: File) -> set[str]:
    """Names of a file of the base that are gone or mean something else, itself among them."""
    if path in head.unreadable:
        return set()
    now = path if path in head.tree.identities else _under_its_name(path)
    there = head.changed.get(now)
    if there is not None and now == path:
        return set(matching.changed_names(path))
    if there is None:
        kept = path.endswith(_INITIAL) and head.tree.has(path.removesuffix(f"/{_INITIAL}"))
        return {*file.bound, *([] if kept or path in head.tree.identities else [MODULE])}
    return {
        name
        for name in file.bound
        if name not in there.bound or not matching.same(base.meaning(path, name), head.meaning(now, name))
    }


def _under_its_name(path: str) -> str:
    """Where a module may be that was a file and is a package, or was one."""
    if path.endswith(f"/{_INITIAL}"):
        return path.removesuffix(f"/{_INITIAL}") + ".py"
    return path.removesuffix(".py") + f"/{_INITIAL}"


def _asking(base: Side, head: Side, gone: dict[str, set[str]]) -> Iterator[str]:
    """Files that are the same on both sides and may import some names."""
    wanted = []
    for path, names in gone.items():
        spelled = [b"" if name in (MODULE, "*") else name.encode() for name in names]
        stem = PurePosixPath(path.removesuffix(f"/{_INITIAL}")).stem.encode()
        # A file that imports a name from a module says both; that of a package around it need not be said.
        around = path.removesuffix(_INITIAL) if path.endswith(_INITIAL) else None
        if spelled:
            wanted.append((stem, around, spelled))
    for path in _untouched(base.tree, head.tree) if wanted else ():
        text = base.tree.read(path)
        if any(
            (stem in text or (around is not None and path.startswith(around)))
            and any(name in text for name in names)
            for stem, around, names in wanted
        ):
            yield path


def _untouched(base: Tree, head: Tree) -> Iterator[str]:
    """Python files that are the same on both sides."""
    for path, blob in base.identities.items():
        if blob == head.identities.get(path) and " " not in blob and path.endswith(".py"):
            yield path


def _surely(tree: Tree, user: str, path: str) -> bool:
    """Is it a file of the tree that another one imports, not one that has the name of a module outside?"""
    together = user.partition("/")[0] == path.partition("/")[0] and _in_package(tree, path)
    return together or "/" not in path.removesuffix(f"/{_INITIAL}")


def _in_package(tree: Tree, path: str) -> bool:
    return f"{path.rpartition('/')[0]}/{_INITIAL}" in tree.identities


def _was_there(base: Side, path: str, name: str) -> bool:
    file = base.file(path)
    inside = path.removesuffix(_INITIAL) + name
    return (file is not None and name in file.bound) or (
        path.endswith(_INITIAL) and (base.tree.has(inside) or f"{inside}.py" in base.tree.identities)
    )


def _dead(side: Side, file: File) -> set[tuple[str, str]]:
    """Names that a file imports from modules of the tree which do not have them."""
    found: set[tuple[str, str]] = set()
    for node, where in side.sources(file):
        path = side.tree.module(where)
        inner = side.file(path) if path is not None else None
        if path is None or inner is None or any(name in inner.bound for name in _ANSWERS):
            continue
        known = inner.bound | inner.rebound | OF_A_MODULE | {"*"}
        for name in (alias.name for alias in node.names if alias.name not in known):
            inside = path.endswith(_INITIAL) and side.tree.has(path.removesuffix(_INITIAL) + name)
            if side.tree.module(below(where, name)) is None and not inside:
                found.add((path, name))
    return found


def met(base: Side, head: Side) -> Iterator[Met]:
    """Names that a module did not have, and that other files get by a star import of it; new modules, as
    `<module>`, that other files get where they imported another one by that name.
    """
    stars = StarImports(head.tree)
    for path in sorted(base.changed.keys() & head.changed.keys()):
        there = head.changed[path]
        fresh = there.exported - base.changed[path].exported
        users = stars.of(path) if fresh else []
        for name in sorted(fresh) if users else ():
            yield Met(path, name, tuple(users), identity("met", path, name, *users))
    hiding = {name: path for path in sorted(head.changed) if (name := _may_hide(base, head, path))}
    found: dict[str, list[str]] = {}
    for other in _untouched(base.tree, head.tree) if hiding else ():
        data = base.tree.read(other)
        for name in hiding:
            if name.encode() in data and _imports(base, other, data, name):
                found.setdefault(name, []).append(other)
    for name, users in found.items():
        yield Met(hiding[name], MODULE, tuple(users), identity("met", hiding[name], MODULE, *users))


def _may_hide(base: Side, head: Side, path: str) -> str:
    """The name by which a file that is new is imported in place of a module that is not of the tree."""
    *folders, name = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if path in base.tree.identities or name == "__init__" or base.tree.module(name) is not None:
        return ""
    # In a package it is imported by a longer name.
    return "" if folders and "/".join([*folders, _INITIAL]) in head.tree.identities else name


def _imports(side: Side, path: str, data: bytes, name: str) -> bool:
    """Does a file import a module of that name, or something of it?"""
    if not re.search(rb"\b(from|import)\b[^\n]*(\\\r?\n[^\n]*)*\b%s\b" % name.encode(), data):
        return False
    file = side.file(path)
    for node in imports_in(file.tree.body) if file is not None else ():
        names = [alias.name for alias in node.names]
        if not isinstance(node, ast.Import):
            names = [node.module or ""] if not node.level else []
        if any(dotted.partition(".")[0] == name for dotted in names):
            return True
    return False


def other_package(path: str, base: Tree, head: Tree) -> str:
    """Name the change of a folder whose modules stay when its own file goes, or comes; else empty."""
    folder, name = path.removesuffix(_INITIAL), PurePosixPath(path).name
    if name == "conftest.py" and (path in base.identities) != (path in head.identities):
        which = "gone" if path in base.identities else "new"
        return f"{which}: pytest gives what it has to the tests of its folder"
    if name != _INITIAL or not folder or (path in base.identities) == (path in head.identities):
        return ""
    for tree in (base, head):
        if not any(p.startswith(folder) and p.endswith(".py") and p != path for p in tree.identities):
            return ""
    if path in base.identities:
        return (
            "gone: the folder is no package of its own any more, for imports, installers and loaders of tests"
        )
    return "new: the folder was no package of its own before, for imports, installers and loaders of tests"
