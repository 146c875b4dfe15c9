"""Code that checks read at the base and leave out now."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from ci.changes.compare import Weakening
from ci.changes.place import Side
from ci.changes.readings import read_below, root_packages

_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+def|c?p?def|class)[ \t]+(\w+)", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*(?:def|class|import|from|for|while)\b.*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_LONGEST = 1_000_000
_FEW = 3


def unread(before: Side, after: Side) -> Iterator[Weakening]:
    """List files with code that a check's paths held at the base, or that they newly name.

    That is a Python file that has come into a skipped folder below the paths; a definition that is gone from
    what is read there and is new elsewhere, by its name or by its body; a new file with code that is named
    now by what is read there, and was not before.
    """
    said: set[str] = set()
    for told, paths in _scopes(before).items():
        for path, what in _unread(before, after, paths):
            if path not in said:
                said.add(path)
                yield Weakening("unread", f"{path} {what} ({told})", path)


def _scopes(side: Side) -> dict[str, tuple[str, ...]]:
    """The paths that a check reads, by the check's name."""
    config, found = side.config, dict[str, tuple[str, ...]]()
    if config.hotpath:
        found["hotpath"] = config.hotpath.paths
    if config.evidence:
        found["evidence"] = config.evidence.paths
    if config.power:
        found["power"] = config.power.paths
    if config.contracts:
        found["contracts"] = tuple(_packages(side))
    return {told: paths for told, paths in found.items() if paths}


def _packages(side: Side) -> Iterator[str]:
    try:
        names = root_packages(side)
    except ValueError:
        return  # listed by the comparison
    for name in names:
        for folder in (".", *side.config.pythonpath):
            path = PurePosixPath(folder, name)
            if (side.root / path).is_dir():
                yield path.as_posix()


def _unread(before: Side, after: Side, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    read, now = read_below(before.root, paths), read_below(after.root, paths)
    names, bodies = _held(read.values())
    kept = _held(now.values())
    gone_names, gone_bodies = names - kept[0], set(bodies) - set(kept[1])
    fresh = _words(now.values()) - _words(read.values())
    for path in after.files:
        if path in now or _same(before, after, path):
            continue
        is_new = not (before.root / path).exists()
        if path.endswith((".py", ".pyw")) and _below(path, paths) and (is_new or path in read):
            yield path, "is in a folder that no check reads"
            continue
        text = after.text(path)
        if len(text) > _LONGEST or "\0" in text:
            continue
        old_names, old_bodies = _held([before.text(path)])
        new_names, new_bodies = _held([text])
        moved = gone_names & (new_names - old_names)
        moved |= {new_bodies[body] for body in gone_bodies & (set(new_bodies) - set(old_bodies))}
        if moved:
            shown = ", ".join(sorted(moved)[:_FEW]) + (
                f" and {len(moved) - _FEW} more" if len(moved) > _FEW else ""
            )
            yield path, f"has {shown} now, which the check does not read there"
        elif is_new and PurePosixPath(path).stem in fresh and _CODE.search(text) and not _is_test(path):
            yield path, "is new, and named by code that the check reads, but not read itself"


def _same(before: Side, after: Side, path: str) -> bool:
    try:
        return (before.root / path).read_bytes() == (after.root / path).read_bytes()
    except OSError:
        return False


def _is_test(path: str) -> bool:
    return PurePosixPath(path).name.startswith(("test_", "conftest"))


def _held(texts: Iterable[str]) -> tuple[set[str], dict[str, str]]:
    """Names of definitions, and names by what stands in a function's body."""
    names: set[str] = set()
    bodies: dict[str, str] = {}
    for text in texts:
        names |= {*_DEFINED.findall(text)}
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_empty(node):
                bodies[ast.dump(ast.Module(node.body, []))] = node.name
    return names, bodies


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a body is too small to identify its function."""
    return all(isinstance(each, ast.Pass | ast.Expr) and not _calls(each) for each in node.body)


def _calls(node: ast.stmt) -> bool:
    return any(isinstance(each, ast.Call) for each in ast.walk(node))


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _below(path: str, folders: Sequence[str]) -> bool:
    plain = [folder.strip("/").removeprefix("./") for folder in folders]
    return any(folder in (".", "", path) or path.startswith(f"{folder}/") for folder in plain)
