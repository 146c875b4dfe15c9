"""Make of a function's main loop the method of a class, and of the loop itself a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from codemods.program.loops import Parts
from codemods.rewrites.text.file import with_absolute_imports
from codemods.rewrites.text.imports import ImportSection, imports_among
from codemods.rewrites.text.layout import blank_lines

_DEPTH = " " * 8


class Loop:
    """One loop taken out of its function."""

    def __init__(self, parts: Parts, package: str | None) -> None:
        """Relative imports in it, made in a package, are made absolute.

        Raises:
            TextNotPreserved: if libcst would write it differently.
        """
        self.parts = parts
        self.source = parts.analysis.source
        self.program = with_absolute_imports(self.source, [parts.loop], [parts.loop], package)

    def rest(self, call: str, section: ImportSection) -> str:
        """The text with a statement in place of the loop, and imports."""
        program, loop = self.program, self.parts.loop

        def change(node: Any) -> cst.CSTNode:
            program.taken[loop] = node
            made = cst.parse_statement(call)
            assert isinstance(made, cst.SimpleStatementLine)
            return made.with_changes(leading_lines=node.leading_lines)

        program.change(program.nodes[loop], change)
        program.insert(*imports_among(self.source, section, self.parts.node.lineno))
        return program.text()

    def method(self, head: str, *, apart: bool, last: Sequence[str]) -> str:
        """The text of a class whose last method goes on with the loop, and then some lines."""
        tail = "".join(_DEPTH + line + self.source.newline for line in (*last, "pass"))
        home = self.program.module_of(self.parts.loop)
        config = cst.PartialParserConfig(
            default_newline=self.source.newline, default_indent=home.default_indent
        )
        module = cst.parse_module(head + tail, config)
        made = module.body[-1]
        assert isinstance(made, cst.ClassDef)
        function: Any = made.body.body[-1]
        statements = list(function.body.body)[:-1]
        loop: Any = self.program.taken[self.parts.loop]
        at = len(statements) - len(last)
        statements.insert(at, loop.with_changes(leading_lines=blank_lines(1) if apart else []))
        body = function.body.with_changes(body=statements)
        whole = made.body.with_changes(body=[*made.body.body[:-1], function.with_changes(body=body)])
        return module.with_changes(body=[*module.body[:-1], made.with_changes(body=whole)]).code
