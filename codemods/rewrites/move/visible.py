"""Traits of a moved definition that the project sees besides its name: module, place of its calls."""

from __future__ import annotations

import ast
import re

from codemods.program.annotations import quoted_in
from codemods.program.globals import globals_of
from codemods.program.lifting import Analysis
from codemods.program.namespaces import asking
from codemods.program.repository import setting_files
from codemods.program.scopes import ScopeTree, private_names
from codemods.program.surroundings import Surroundings
from codemods.rewrites.move.definitions import Definition
from codemods.rewrites.refusals import Refusals, refuse
from codemods.rewrites.rules.decision import is_hook


def moved_alike(
    around: Surroundings,
    analysis: Analysis,
    definition: Definition,
    moved: frozenset[str],
    new: str,
) -> Refusals:
    """Nobody sees where a definition stands, or that it has a ``new`` name; ``moved`` are the names that
    leave the source with it.
    """
    node, name = definition.node, definition.name
    private = () if new.lstrip("_") == name.lstrip("_") else private_names(node, name)
    for other, line in private if isinstance(node, ast.ClassDef) else ():
        what = f"{other} means another name in a class that is not called {name}"
        yield refuse("class-cell", line, what, "leave out the rename")
    found: list[tuple[str, ast.AST, str | None]] = [
        ("dynamic-names", at, f"{what} is used here") for at, what in asking(analysis.tree)
    ]
    look = around.look()
    found.append(("dynamic-names", node, None if look is None or look.by_name else str(look)))
    known = globals_of(analysis)
    lazily = sorted(only_checked(analysis, definition) - moved)
    place = around.marked("annotations", [name]) if lazily else None
    if place is not None:
        what = f"an annotation of {name} names {lazily[0]}, which can't be imported alike, and {place}"
        found.append(("needs-source", node, what))
    reads = [read for read in definition.reads if known.look_up(read).origin in ("import", "own")]
    if (replaced := around.replacing(reads)) is not None:
        found.append(("moved-seam", node, f"{replaced}, which {name} reads"))
    derives = isinstance(node, ast.ClassDef) and bool(node.bases or node.keywords)
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        found.append(("definition-evaluated", node, around.marked_anywhere("derived") if derives else None))
        found.append(("introspection", node, around.marked("module", [name])))
    if isinstance(node, ast.ClassDef):
        found.append(("introspection", node, around.marked("allowed", [name])))
    for code, at, told in found:
        if told is not None:
            yield refuse(code, at, told)


def only_checked(analysis: Analysis, definition: Definition) -> set[str]:
    """Names that only annotations of a definition have, and that its new file can't import when it is loaded:
    what stays in the source, or what is imported there after something else was done.
    """
    known = globals_of(analysis)
    found = definition.annotated | quoted_in(definition.node)
    return {
        name
        for name in found - definition.reads.keys()
        if known.look_up(name).origin == "own"
        or not known.repeatable(known.look_up(name), definition.node.lineno)
    }


def still_asked(around: Surroundings, tree: ScopeTree, names: frozenset[str]) -> frozenset[str]:
    """Names that somebody may ask the source for after a move: by names that only a run tells, by pickles and
    checkpoints that were written before, by settings, by loaders of tests and plugins.
    """
    if around.look() is not None or around.marked("pickles", None) or asking(tree):
        return names
    asked = {name for name in names if around.may_ask(name) or is_hook(name)}
    if around.marked("checkpoints", None):
        asked |= names & {node.name for node in tree.source.tree.body if isinstance(node, ast.ClassDef)}
    tail = around.module.name.rpartition(".")[2]
    spelled = re.compile(rb"\b%b(?:[.:](\w+)|\s+import\s+\(?([\w ,]+))" % tail.encode())
    found = {
        word.decode("utf-8", "replace")
        for data in setting_files(around.root)
        for match in spelled.findall(data)
        for word in re.findall(rb"\w+", b" ".join(match))
    }
    return names & (found | asked)
