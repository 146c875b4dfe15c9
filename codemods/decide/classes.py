"""By which names a file knows what added classes need."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.decide.naming import fresh_name
from codemods.facts.lifting import Analysis
from codemods.facts.names import dotted


@dataclass(frozen=True, slots=True)
class Imported:
    """The names by which the file knows what a class needs, and import statements for those it lacks."""

    names: Mapping[str, str]
    missing: tuple[str, ...]


def find_imports(
    analysis: Analysis, roots: Sequence[ast.AST], paths: Sequence[str], taken: set[str]
) -> Imported:
    """By which names some things are known before all of some module-level statements."""
    tree, flow = analysis.tree, analysis.flow(analysis.tree.module)
    names, missing = dict[str, str](), dict[str, list[str]]()
    for path in paths:
        module, _, name = path.rpartition(".")
        known = dotted(tree, tree.module, ast.Name(name, ast.Load())) == path
        if known and all(flow.knows(root) and flow.bound_at(root, name) for root in roots):
            names[name] = name
            continue
        names[name] = fresh_name(analysis, [name, f"_{name}"], taken)
        alias = "" if names[name] == name else f" as {names[name]}"
        missing.setdefault(module, []).append(name + alias)
    return Imported(names, tuple(f"from {module} import {', '.join(m)}" for module, m in missing.items()))
