"""What other files of a project say about names that moved: imports, attributes, names in strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.facts.imports import resolve_relative
from codemods.facts.lifting import Analysis
from codemods.facts.names import dotted
from codemods.facts.repository import python_files
from codemods.facts.scopes import Scope
from codemods.facts.source import Source, SourceError
from codemods.plans.modules import dotted_name, import_base
from codemods.plans.overlay import Overlay
from codemods.rewrite.edits import Edit, apply_edits
from codemods.rewrite.lift import indentation
from codemods.rewrite.move import free_everywhere, name_edits


@dataclass(frozen=True, slots=True)
class Moved:
    """A name of the source, what it is called now, and in which module."""

    old: str
    new: str
    module: str


def _candidates(
    overlay: Overlay, root: Path, module: str, names: Sequence[str], skip: Collection[Path]
) -> Iterator[Path]:
    """Files that mention the module and one of the names."""
    tail = module.rpartition(".")[2].encode()
    pattern = re.compile(b"|".join(rb"\b" + re.escape(name.encode()) + rb"\b" for name in names))
    for path in sorted({*python_files(root), *overlay.made}):
        if path not in skip and path.suffix == ".py" and overlay.counts(path):
            data = overlay.data(path)
            if tail in data and pattern.search(data):
                yield path


def referenced_elsewhere(
    overlay: Overlay, root: Path, module: str, moved: Sequence[Moved], skip: Collection[Path]
) -> set[str]:
    """Names that other files may take from the source as attributes or by strings: it must keep them."""
    found = set()
    names = [item.old for item in moved]
    for path in _candidates(overlay, root, module, names, skip):
        text = overlay.data(path).decode("utf-8", "replace")
        for name in names:
            quoted = re.escape(name)
            if re.search(rf"\.\s*{quoted}\b|[\"']{quoted}[\"']", text):
                found.add(name)
    return found


def follow_references(
    overlay: Overlay, root: Path, module: str, moved: Sequence[Moved], skip: Collection[Path]
) -> None:
    """Rewrite imports, attributes and dotted strings in the project's other files.

    Raises:
        SourceError: if a file that mentions a name is not Python.
    """
    for path in _candidates(overlay, root, module, [item.old for item in moved], skip):
        try:
            source = overlay.source(path, str(path))
        except SourceError as error:
            raise SourceError(f"{error} (it mentions a name that moves)") from None
        text = _followed(source, path, module, {item.old: item for item in moved})
        if text != source.text:
            overlay.put(path, source, text)
            overlay.followers.add(path)


def _followed(source: Source, path: Path, module: str, moved: dict[str, Moved]) -> str:
    """A file's text with its references to moved names brought up to date."""
    analysis = Analysis(source)
    tree = analysis.tree
    base = import_base(path)
    package = dotted_name(path.parent, base) if base != path.parent else ""
    edits: list[Edit] = []
    for scope in tree.scopes():
        for node in _own_statements(scope):
            name = node.module or ""
            whole = resolve_relative(package, node.level, node.module) if node.level else name
            if whole == module and any(alias.name in moved for alias in node.names):
                edits.extend(_import_edits(analysis, scope, node, moved))
    for part in ast.walk(source.tree):
        if isinstance(part, ast.Attribute) and part.attr in moved:
            renamed = moved[part.attr].new != part.attr
            if renamed and dotted(tree, tree.module, part.value) == module:
                end = source.span(part)[1]
                edits.append(Edit(end - len(part.attr), end, moved[part.attr].new))
        elif isinstance(part, ast.Constant) and str(part.value).startswith(f"{module}."):
            edits.extend(_string_edits(source, part, module, moved))
    return apply_edits(source.text, edits)


def _own_statements(scope: Scope) -> Iterator[ast.ImportFrom]:
    """Import statements that run in a scope itself."""
    body = getattr(scope.node, "body", None)
    stack: list[ast.AST] = list(body) if isinstance(body, list) else []
    while stack:
        node = stack.pop()
        if isinstance(node, ast.ImportFrom):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


def _import_edits(
    analysis: Analysis, scope: Scope, node: ast.ImportFrom, moved: dict[str, Moved]
) -> list[Edit]:
    """Split an import: what stays, and each moved name from its new module; uses follow a free new name."""
    source = analysis.source
    edits: list[Edit] = []
    kept = [ast.unparse(alias) for alias in node.names if alias.name not in moved]
    where = "." * node.level + (node.module or "")
    lines = [f"from {where} import {', '.join(kept)}"] if kept else []
    for alias in node.names:
        item = moved.get(alias.name)
        if item is None:
            continue
        local = alias.asname or alias.name
        if alias.asname is None and item.new != item.old and free_everywhere(analysis, item.new):
            owner = analysis.tree.owner(scope, item.old)
            edits.extend(name_edits(analysis, {item.old: item.new}, owner))
            local = item.new
        suffix = f" as {local}" if local != item.new else ""
        lines.append(f"from {item.module} import {item.new}{suffix}")
    start, end = source.span(node)
    joiner = source.newline + indentation(source, node.lineno)
    return [*edits, Edit(start, end, joiner.join(lines))]


def _string_edits(source: Source, node: ast.Constant, module: str, moved: dict[str, Moved]) -> list[Edit]:
    """Rename the part of a dotted string that names a moved definition."""
    first = str(node.value)[len(module) + 1 :].partition(".")[0]
    item = moved.get(first)
    if item is None or item.new == item.old:
        return []
    start, end = source.span(node)
    text = source.text[start:end]
    old = f"{module}.{first}"
    if text.count(old) != 1:
        return []
    at = start + text.index(old) + len(module) + 1
    return [Edit(at, at + len(first), item.new)]


def is_star_imported(root: Path, module: Path) -> bool:
    """Whether a file below the root may import everything from a module."""
    tail = re.escape(module.parent.name if module.stem == "__init__" else module.stem)
    blank = rb"(?:\s|\\\r?\n)*"
    named = re.compile(rb"from[\s\\]+[\w.]*" + tail.encode() + rb"\b" + blank + rb"import" + blank + rb"\*")
    dots = re.compile(rb"from[\s\\]*\.+" + blank + rb"import" + blank + rb"\*")
    for path in python_files(root):
        data = path.read_bytes()
        inside = module.stem == "__init__" and module.parent in path.parents
        if named.search(data) or (inside and dots.search(data)):
            return True
    return False
