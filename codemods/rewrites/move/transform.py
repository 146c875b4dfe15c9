"""Take module-level definitions out of a file, and write new names wherever they are read."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from codemods.program.lifting import Analysis
from codemods.rewrites.move.definitions import Definition
from codemods.rewrites.text.file import Program, with_absolute_imports


class Moved:
    """Definitions taken out of one file."""

    def __init__(
        self,
        analysis: Analysis,
        definitions: Sequence[Definition],
        names: Mapping[str, str],
        inside: Mapping[str, str],
        package: str | None,
        *,
        whole: bool,
    ) -> None:
        """``names`` are new names of definitions, ``inside`` those by which they refer to each other.

        Relative imports in what moves are made absolute; if the ``whole`` file moves, in the rest too.

        Raises:
            TextNotPreserved: if libcst would write a touched part differently.
        """
        nodes = [definition.node for definition in definitions]
        trees: list[ast.AST] = [analysis.source.tree] if whole else list(nodes)
        parts = {part for node in nodes for part in ast.walk(node)}
        renamed = {use: new for use, new in renamed_uses(analysis, inside).items() if use in parts}
        self.program = with_absolute_imports(analysis.source, [*nodes, *renamed], trees, package)
        rename(self.program, renamed)
        for definition in definitions:
            self.program.cut(definition.node)
            new = names.get(definition.name, definition.name)
            if new != definition.name:
                self._rename(definition, new)

    def _rename(self, definition: Definition, new: str) -> None:
        """Define it under another name."""
        node = definition.node
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            assert isinstance(target, ast.Name)
            rename(self.program, {target: new})
            return

        def change(made: Any) -> cst.CSTNode:
            changed: cst.CSTNode = made.with_changes(name=made.name.with_changes(value=new))
            return changed

        self.program.change(self.program.nodes[node], change)

    def definition(self, definition: Definition) -> str:
        """A definition's text, once the rest has been written."""
        return self.program.code(self.program.taken[definition.node], definition.node)


def renamed_uses(analysis: Analysis, names: Mapping[str, str]) -> dict[ast.Name, str]:
    """Find reads of the module's names that get other names, with these."""
    tree = analysis.tree
    return {
        use.node: names[use.node.id]
        for uses in (*tree.uses.values(), tree.annotated)
        for use in uses
        if names.get(use.node.id, use.node.id) != use.node.id
        and tree.owner(use.scope, use.node.id) is tree.module
    }


def rename(program: Program, names: Mapping[ast.Name, str]) -> None:
    """Write other names."""
    for name, new in names.items():
        program.change(program.names[name], lambda old, new=new: old.with_changes(value=new))  # type: ignore[misc]
