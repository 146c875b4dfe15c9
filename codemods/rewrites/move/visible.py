"""What the project sees of a definition that a plan moves besides its name: module, place of its calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.program import nodes
from codemods.program.annotations import quoted_in
from codemods.program.globals import globals_of
from codemods.program.lifting import Analysis
from codemods.program.marks import SAYS
from codemods.program.replaced import place_replacing
from codemods.program.repository import setting_files
from codemods.program.scopes import ScopeTree
from codemods.program.surroundings import Surroundings
from codemods.rewrites.move.definitions import Definition, executed_in
from codemods.rewrites.move.own_names import asks_itself, not_seen_by_itself
from codemods.rewrites.naming import is_hook
from codemods.rewrites.refusals import Refusals, refuse
from codemods.values.project import Module, Project

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEPEST = 12


def moved_alike(
    around: Surroundings,
    project: Project,
    analysis: Analysis,
    definition: Definition,
    moved: frozenset[str],
    new: str,
) -> Refusals:
    """Nobody sees where a definition stands, or that it has a ``new`` name; ``moved`` are the names that
    leave the source with it.
    """
    node, name = definition.node, definition.name
    if new.lstrip("_") != name.lstrip("_"):
        yield from _renamed_alike(around, analysis, definition)
    yield from not_seen_by_itself(analysis.tree, definition)
    if (look := around.look()) is not None and not look.by_name:
        yield refuse("dynamic-names", node, str(look))
    known = globals_of(analysis)
    lazily = sorted(only_checked(analysis, definition) - moved)
    place = around.marked("annotations", [name]) if lazily else None
    if place is not None:
        stays = known.look_up(lazily[0]).origin == "own"
        which = "stays in the source" if stays else "another file can't import alike"
        what = f"an annotation of {name} names {lazily[0]}, which {which}, and {place}"
        yield refuse("needs-source", node, what)
    reads = {read: True for read in definition.reads if known.look_up(read).origin in ("import", "own")}
    late = [
        n
        for r in reads
        for n in known.look_up(r).imports
        if not known.repeatable(known.look_up(r), node.lineno)
    ]
    paths = {path: True for n in late for path in _taken(n)}
    if (replaced := place_replacing(around, reads, paths)) is not None:
        yield refuse("moved-seam", node, f"{replaced}, which {name} reads")
    if around.reloaded:
        reason = f"a file of the project loads the module again, and {name} would not be made anew"
        yield refuse("definition-evaluated", node, reason)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return
    for part in executed_in(analysis.tree, node):
        hooked = _hooked(project, project.own, part) if isinstance(part, ast.ClassDef) else None
        if hooked is not None:
            what = f"{hooked} may run code when {name} is made of it"
            yield refuse("definition-evaluated", part, what)
    if isinstance(node, ast.ClassDef) and node.bases and (place := around.asks_for_derived()) is not None:
        what = f"{place} {SAYS['derived']}, and {name} derives from one"
        yield refuse("definition-evaluated", node, what)
    examples = any(
        ">>>" in (ast.get_docstring(n, clean=False) or "")
        for n in nodes.walk(node)
        if isinstance(n, (*_FUNCTIONS, ast.ClassDef))
    )
    place = around.marked("module", [name]) or (around.marked("doctest", [name]) if examples else None)
    if place is not None:
        yield refuse("introspection", node, place)


def _taken(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The dotted paths that an import takes names from other modules by."""
    if isinstance(node, ast.ImportFrom) and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _renamed_alike(around: Surroundings, analysis: Analysis, definition: Definition) -> Refusals:
    """Nothing is made of a definition's name but texts that show it."""
    node, name = definition.node, definition.name
    if isinstance(node, ast.ClassDef):
        for part in nodes.walk(node):
            if (private := _private(part)) is not None:
                what = (
                    f"{private} means another name in a class that is not called {name}; leave out the rename"
                )
                yield refuse("class-cell", part if isinstance(part, (ast.expr, ast.stmt)) else node, what)
                return


def _private(node: ast.AST) -> str | None:
    """The name in a node that means another one inside of a class."""
    match node:
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.ClassDef(name=name)
            | ast.arg(arg=name)
            | ast.keyword(arg=str() as name)
        ) if name.startswith("__") and not name.endswith("__"):
            return name
    return None


def _hooked(project: Project, module: Module, node: ast.ClassDef, depth: int = 0) -> str | None:
    """A class of the project with code of its own for classes that are made of it, as this one is."""
    metas = [keyword.value for keyword in node.keywords if keyword.arg == "metaclass"]
    for kind in (*node.bases, *metas) if depth < _DEEPEST else ():
        path = module.path(kind.value if isinstance(kind, ast.Subscript) else kind)
        found = project.follow(path) if path is not None else None
        if found is None:
            continue
        if kind in metas or not isinstance(found.node, ast.ClassDef) or _has_hook(found.node):
            return found.name
        if (further := _hooked(project, found.module, found.node, depth + 1)) is not None:
            return further
    return None


def _has_hook(node: ast.ClassDef) -> bool:
    return any(
        (isinstance(inner, _FUNCTIONS) and inner.name == "__init_subclass__")
        or (isinstance(inner, ast.Name) and inner.id == "__init_subclass__")
        for inner in nodes.walk(node)
    )


def only_checked(analysis: Analysis, definition: Definition) -> set[str]:
    """Names that only annotations of a definition have, and that its new file can't import when it is loaded:
    what stays in the source, or what is imported there after something else was done.
    """
    known = globals_of(analysis)
    found = definition.annotated | quoted_in(analysis.tree, definition.node)
    return {
        name
        for name in found - definition.reads.keys()
        if known.look_up(name).origin == "own"
        or not known.repeatable(known.look_up(name), definition.node.lineno)
    }


def still_asked(around: Surroundings, tree: ScopeTree, names: frozenset[str]) -> frozenset[str]:
    """Names that somebody may ask the source for after a move: by names that only a run tells, by pickles
    that were written before, by settings, by loaders of tests and plugins.
    """
    if around.look() is not None or around.marked("pickles", None) or asks_itself(tree):
        return names
    asked = {name for name in names if around.may_ask(name) or is_hook(name)}
    tail = around.module.name.rpartition(".")[2]
    spelled = re.compile(rb"\b%b(?:[.:](\w+)|\s+import\s+\(?([\w ,]+))" % tail.encode())
    found = {
        word.decode("utf-8", "replace")
        for data in setting_files(around.root)
        for match in spelled.findall(data)
        for word in re.findall(rb"\w+", b" ".join(match))
    }
    return names & (found | asked)
