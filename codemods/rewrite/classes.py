"""Small classes added to a file: where they stand, and what they import."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.decide.classes import Imported
from codemods.facts.source import Source
from codemods.rewrite.lift import first_line, indentation


def add_imports(source: Source, imported: Imported, classes: dict[int, str]) -> None:
    """Add import statements to the texts that go before module-level statements, by offset."""
    if not imported.missing:
        return
    at, text = import_statements(source, imported.missing)
    if at in classes:
        text = text.rstrip("\r\n") + source.newline * 3 + classes[at].lstrip("\r\n")
    classes[at] = text


def at_class_place(source: Source, root: ast.stmt, lines: Sequence[str], classes: dict[int, str]) -> None:
    """Add a class to the texts that go before module-level statements, by offset."""
    line = first_line(source, root)
    at, indent = source.starts[line - 1], indentation(source, root.lineno)
    gap = source.newline * (1 if indent else 2)
    crowded = line > 1 and source.lines[line - 2].strip()
    text = "".join((indent + line if line else "") + source.newline for line in lines)
    classes[at] = classes.get(at, gap if crowded else "") + text + gap


def import_statements(source: Source, missing: Sequence[str]) -> tuple[int, str]:
    """Where import statements go, and their text: after the module's docstring and future imports."""
    last = 0
    for index, statement in enumerate(source.tree.body):
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        documentation = (
            index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )
        if not (future or documentation):
            break
        assert statement.end_lineno is not None
        last = statement.end_lineno
    while last < len(source.lines) and source.lines[last].startswith("#"):
        last += 1
    at, newline = source.starts[last], source.newline
    if source.text[:at] and not source.text[:at].endswith(("\n", "\r")):
        return at, newline * 2 + "".join(line + newline for line in missing)
    following = source.lines[last] if last < len(source.lines) else ""
    if not following.strip() and following:
        at, following = source.starts[last + 1], "".join(source.lines[last + 1 : last + 2])
    lead = newline if at and source.lines[last - 1 : last] and at == source.starts[last] else ""
    tail = "" if following.startswith(("import ", "from ")) or not following else newline
    if following.startswith(("def ", "async ", "class ", "@")):
        tail = newline * 2
    return at, lead + "".join(line + newline for line in missing) + tail
