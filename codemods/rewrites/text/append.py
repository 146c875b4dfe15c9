"""Adding imports and definitions to a module, one that is there or one that is made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from codemods.program.globals import globals_of
from codemods.program.imports import Import, Manner, manner_of
from codemods.program.lifting import Analysis
from codemods.program.source import Source, Unusable
from codemods.rewrites.text.imports import ImportSection, imports_among, is_described


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
    text = docstring_text(docstring, newline)
    if section := imports.render(newline, width):
        text += newline + section + newline
    alone = True
    for definition in definitions:
        constant = isinstance(ast.parse(definition).body[0], (ast.Assign, ast.AnnAssign))
        text += newline * (2 if alone or not constant else 1) + definition
        alone = not constant
    return text


def extended_module(source: Source, imports: ImportSection, definitions: Sequence[str]) -> str:
    """The text of a module with imports and definitions added.

    Raises:
        TargetError: if an imported name means something else there, or the future imports differ.
    """
    if imports.future and set(imports.future) - set(source.future_flags):
        raise TargetError(
            f"{source.path}: lacks `from __future__ import {', '.join(imports.future)}`, which the code needs"
        )
    package, known = imports.manner.package, globals_of(Analysis(source))
    missing = ImportSection(
        imports.roots,
        manner=manner_of(source.tree, package) if package else Manner(),
        made=imports.made,
        planned=imports.planned,
    )
    for made, chosen in ((imports.runtime, missing.runtime), (imports.typing, missing.typing)):
        for item in made:
            there = known.look_up(item.bound)
            # One for type checkers alone is none when the program runs.
            only_checked = there.origin == "typing" and chosen is missing.runtime
            if (known.tree.module, item.bound) not in known.tree.binders:
                chosen.add(item)
            elif item not in known.imports(item.bound, package):
                raise TargetError(f"{source.path}: {item.bound} is something else there")
            elif only_checked:
                chosen.add(item)
    newline = source.newline
    at, section, _ = imports_among(source, missing, _end_of_imports(source))
    text = "".join([*source.lines[:at], section, *source.lines[at:]]).rstrip("\r\n") + newline
    return text + "".join(newline * 2 + definition for definition in definitions)


def has_imports(source: Source, imports: Iterable[Import], package: str) -> bool:
    """Tell whether a file of a package has some imports already, for type checkers at least."""
    known = globals_of(Analysis(source))
    return all(made in known.imports(made.bound, package) for made in imports)


def defined_names(tree: ast.Module) -> set[str]:
    """Names that definitions and assignments of a module's top level bind."""
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(n.id for each in targets for n in ast.walk(each) if isinstance(n, ast.Name))
    return found


def _end_of_imports(source: Source) -> int:
    """The line of the first statement that is neither the docstring nor an import."""
    for number, statement in enumerate(source.tree.body):
        if not is_described(source, number) and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return statement.lineno
    return len(source.lines) + 1
