"""Adding imports and definitions to a module, one that is there or one that is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from codemods.facts.imports import Import, Manner, imports_in, manner_of
from codemods.facts.source import Source, Unusable
from codemods.rewrite.imports import ImportSection, imports_among, is_described


class TargetError(Unusable):
    """A file that can't be made, or can't take what is added to it; the message is one line."""


def docstring_text(text: str, newline: str) -> str:
    """A module docstring with this text."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return '"""' + newline.join(escaped.split("\n")) + '"""' + newline


def made_module(
    docstring: str, imports: ImportSection, definitions: Sequence[str], newline: str, width: int
) -> str:
    """The text of a module that was not there."""
    parts = [docstring_text(docstring, newline)]
    section = imports.render(newline, width)
    if section:
        parts.append(newline + section + newline)
    previous = ""
    for text in definitions:
        parts.append(newline * (1 if _is_constant(previous) and _is_constant(text) else 2) + text)
        previous = text
    return "".join(parts)


def _is_constant(text: str) -> bool:
    return bool(text) and isinstance(ast.parse(text).body[0], (ast.Assign, ast.AnnAssign))


def extended_module(
    source: Source, imports: ImportSection, definitions: Sequence[str], names: Sequence[str]
) -> str:
    """The text of a module with imports and definitions added.

    Raises:
        TargetError: if a name means something else there, or the future imports differ.
    """
    if imports.future and set(imports.future) - set(source.future_flags):
        raise TargetError(
            f"{source.path}: lacks `from __future__ import {', '.join(imports.future)}`, which the code needs"
        )
    package = imports.manner.package
    bound = _bound(source.tree, package)
    for name in names:
        if name in bound:
            raise TargetError(f"{source.path}: has a name {name} already")
    missing = ImportSection(
        imports.roots,
        manner=manner_of(source.tree, package) if package else Manner(),
        made=imports.made,
        planned=imports.planned,
    )
    for made, chosen in ((imports.runtime, missing.runtime), (imports.typing, missing.typing)):
        for item in made:
            known = bound.get(item.bound)
            if known is None:
                chosen.add(item)
            elif item not in known:
                raise TargetError(f"{source.path}: {item.bound} is something else there")
    newline = source.newline
    at, section, _ = imports_among(source, missing, _end_of_imports(source))
    lines = [*source.lines[:at], section, *source.lines[at:]]
    text = "".join(lines).rstrip("\r\n") + newline
    return text + "".join(newline * 2 + definition for definition in definitions)


def has_imports(source: Source, imports: Iterable[Import], package: str) -> bool:
    """Whether a file of a package has some imports already."""
    bound = _bound(source.tree, package)
    return all(bound.get(made.bound) == {made} for made in imports)


def defined_names(tree: ast.Module) -> set[str]:
    """Names that definitions and assignments of a module's top level bind."""
    return {name for name, imports in _bound(tree).items() if not imports}


def top_level_names(tree: ast.Module) -> set[str]:
    """Names that an added import is compared with."""
    return set(_bound(tree))


def _bound(tree: ast.Module, package: str = "") -> dict[str, set[Import]]:
    """Names bound by a module's top level, with the imports that bind them; relative ones, if its package is
    known.
    """
    found: dict[str, set[Import]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if package or not getattr(node, "level", 0):
                for made in imports_in(node, package):
                    found.setdefault(made.bound, set()).add(made)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node in tree.body:
                found.setdefault(node.name, set())
        elif isinstance(node, ast.Assign) and node in tree.body:
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, set())
    return found


def _end_of_imports(source: Source) -> int:
    """The line of the first statement that is neither the docstring nor an import."""
    for number, statement in enumerate(source.tree.body):
        if not is_described(source, number) and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return statement.lineno
    return len(source.lines) + 1
