"""Two mechanical refactorings that change no behaviour, made without the tools that are measured."""

from __future__ import annotations

import ast
import builtins
import random
import symtable
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
_LOOKS = frozenset(["locals", "vars", "eval", "exec", "dir", "globals"])
_OWN = frozenset(["__file__", "__name__", "__spec__", "__package__", "super", *_LOOKS])


def refactor(kind: str, root: Path, files: list[Path], seed: str) -> list[Path]:
    """Change a file or two of a tree in place, chosen by the seed; the files that were changed."""
    change: Callable[[Path], list[Path]] = {"moved": move_functions, "renamed": rename_locals}[kind]
    shuffled = sorted(files)
    random.Random(f"{seed} {kind}").shuffle(shuffled)
    changed: list[Path] = []
    for path in shuffled:
        if len(changed) < 4 and path.read_bytes().isascii() and b"\r" not in path.read_bytes():
            changed += change(path)
    return changed


def move_functions(path: Path) -> list[Path]:
    """Move functions of a file that need only its imports to a new file, which it imports them from."""
    text = path.read_text(encoding="ascii")
    new = path.with_name(f"{path.stem}_moved.py")
    tree = _parsed(text)
    if (
        tree is None
        or path.name == "__init__.py"
        or not path.stem.isidentifier()
        or new.exists()
        or "import *" in text
        or "\f" in text
    ):
        return []
    imports, moved = _imports(tree), [s for s in tree.body if isinstance(s, Function)]
    bound = Counter(_bound(tree))
    moved = [s for s in moved if not s.decorator_list and bound[s.name] == 1]
    while True:
        known = {*imports, *(s.name for s in moved)}
        start = min((s.lineno for s in moved), default=0)
        known -= {name for name, statement in imports.items() if statement.lineno > start or bound[name] > 1}
        kept = [s for s in moved if _needs(ast.get_source_segment(text, s) or "") <= known]
        if kept == moved:
            break
        moved = kept
    if len(moved) < 2:
        return []
    lines = text.split("\n")
    needed = set().union(*(_needs(ast.get_source_segment(text, s) or "") for s in moved))
    head = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    head += sorted({imports[n] for n in needed if n in imports}, key=lambda s: s.lineno)
    parts = ["\n".join(ast.unparse(s) for s in head)]
    parts += ["\n".join(lines[s.lineno - 1 : s.end_lineno]) for s in moved]
    names = ", ".join(s.name for s in moved)
    for statement in reversed(moved):
        line = [f"from {_spelled(new, tree)} import {names}"] if statement is moved[0] else []
        lines[statement.lineno - 1 : statement.end_lineno] = line
    new.write_text("\n\n\n".join(parts).lstrip("\n") + "\n", encoding="ascii")
    path.write_text("\n".join(lines), encoding="ascii")
    return [path, new]


def rename_locals(path: Path) -> list[Path]:
    """Give the local variables of a file's functions other names, where nothing can see them."""
    text = path.read_text(encoding="ascii")
    tree = _parsed(text)
    if tree is None:
        return []
    places: list[tuple[int, int, str]] = []
    for function in [node for node in ast.walk(tree) if isinstance(node, Function)]:
        names = _free_to_rename(function)
        places += [
            (node.lineno, node.col_offset, node.id)
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and node.id in names
        ]
    if not places:
        return []
    lines = text.split("\n")
    for line, column, name in sorted(set(places), reverse=True):
        row = lines[line - 1]
        assert row[column : column + len(name)] == name, (path, line)
        lines[line - 1] = f"{row[:column]}{name}_renamed{row[column + len(name) :]}"
    path.write_text("\n".join(lines), encoding="ascii")
    return [path]


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _imports(tree: ast.Module) -> dict[str, ast.stmt]:
    """The statement of the module's top level that imports each name; those of __future__ are left out."""
    found: dict[str, ast.stmt] = {}
    for statement in tree.body:
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if isinstance(statement, ast.Import | ast.ImportFrom) and not future:
            for alias in statement.names:
                found[alias.asname or alias.name.partition(".")[0]] = statement
    return found


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name that a module binds, as often as it does; those that functions declare global as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        stack.extend(ast.iter_child_nodes(node))


def _needs(source: str) -> set[str]:
    """Names of the module that a function's text reads; a name that nobody has, where it must stay."""
    try:
        table = symtable.symtable(source, "function", "exec")
    except SyntaxError:
        return {"?"}
    found = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    stack = list(table.get_children())
    while stack:
        inner = stack.pop()
        stack.extend(inner.get_children())
        for symbol in inner.get_symbols():
            if symbol.is_global():
                found.add("?" if symbol.is_declared_global() else symbol.get_name())
    return {"?"} if found & _OWN else found - set(dir(builtins))


def _spelled(new: Path, tree: ast.Module) -> str:
    """Return the name by which a file beside the changed one is imported."""
    if any(isinstance(s, ast.ImportFrom) and s.level for s in ast.walk(tree)):
        return f".{new.stem}"
    parts = [new.stem]
    for folder in new.parents:
        if not (folder / "__init__.py").is_file():
            break
        parts.insert(0, folder.name)
    return ".".join(parts)


def _free_to_rename(function: Function) -> set[str]:
    """Local variables that are bound by assignments and loops alone and that no inner scope or text sees."""
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    nested = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *comprehensions)
    inside = [node for statement in function.body for node in ast.walk(statement)]
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    if names & _LOOKS or any(isinstance(node, nested) for node in inside):
        return set()
    stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    other = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    for node in inside:
        if isinstance(node, ast.Global | ast.Nonlocal):
            other |= {*node.names}
        elif isinstance(node, ast.alias):
            other.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            other.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            other.add(node.rest)
        elif isinstance(node, ast.JoinedStr | ast.AnnAssign):
            # Before 3.12 the places of what a formatted string holds are not those in the text.
            other |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return {name for name in stored - other if not name.startswith("__")}
