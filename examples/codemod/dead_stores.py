"""A rewrite of one's own on the facts of `codemods`: drop assignments whose value nothing reads.

    python -m libcst.tool codemod -x dead_stores.DropDeadStores --no-format FILE

Only names that are given a constant or another name go: working out anything else may do something.
"""

from __future__ import annotations

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile
from libcst.metadata import MetadataWrapper, PositionProvider

from codemods.program import Moment, NotFollowed, liveness_of


class DropDeadStores(CodemodCommand):
    """Drop assignments whose value nothing reads."""

    DESCRIPTION = "Drop assignments of constants and names whose value nothing reads."

    def __init__(self, context: CodemodContext) -> None:
        super().__init__(context)

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """Find what is live in each function, then drop what is not."""
        wrapper = MetadataWrapper(tree, unsafe_skip_copy=True)
        rewrite = _Drop(tree.code, self.warn)
        changed = wrapper.visit(rewrite)
        if not rewrite.dropped:
            raise SkipFile("nothing to drop")
        return changed


class _Drop(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, text: str, warn) -> None:
        super().__init__()
        self.text, self.warn = text, warn
        self.around: list[str] = []
        self.moments: list[dict[int, Moment]] = []
        self.dropped = 0

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.around.append(node.name.value)
        self.moments.append({})

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.around.append(node.name.value)
        try:
            found = liveness_of(self.text, ".".join(self.around))
        except NotFollowed as reason:
            self.warn(str(reason))
            found = ()
        self.moments.append({moment.line: moment for moment in found})

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.around.pop()
        self.moments.pop()
        return updated_node

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self.around.pop()
        self.moments.pop()
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        line = self.get_metadata(PositionProvider, original_node).start.line
        moment = self.moments[-1].get(line) if self.moments else None
        match original_node.body:
            case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]:
                constant = isinstance(value, (cst.Name, cst.Integer, cst.Float, cst.SimpleString))
                if moment is not None and constant and name in moment.stores - moment.live:
                    self.dropped += 1
                    return cst.RemoveFromParent()
        return updated_node
