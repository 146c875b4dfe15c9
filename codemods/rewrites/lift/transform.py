"""Lift helpers: their captures become keyword-only parameters, and every call passes them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import libcst as cst

from codemods.equal.lift import Lifted
from codemods.program.helpers import Helper
from codemods.program.lifting import Need
from codemods.program.scopes import Use
from codemods.rewrites.lift.decision import Decision
from codemods.rewrites.naming import Names
from codemods.rewrites.text.file import with_absolute_imports
from codemods.rewrites.text.items import add_arguments, add_parameters, is_spread
from codemods.rewrites.text.layout import (
    NOTHING,
    annotation_text,
    indentation,
    line_limit,
    with_docstring_at,
)

_EQUAL = cst.AssignEqual(whitespace_before=NOTHING, whitespace_after=NOTHING)


class Lift:
    """One decision carried out on one file."""

    def __init__(
        self,
        decision: Decision,
        names: Mapping[Helper, Names],
        stated: Mapping[tuple[Helper, Need], ast.expr],
        package: str | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """``stated`` has the annotations of added parameters.

        Relative imports in helpers that leave the source's ``package`` are made absolute; if the ``whole``
        of it moves, in the rest too.

        Raises:
            TextNotPreserved: if libcst would write a touched part differently.
        """
        self.lifting = decision.lifting
        self.helpers = decision.lifted
        self.names = names
        self.stated = stated
        self.source = decision.lifting.tree.source
        self.width = line_limit(self.source)
        uses = {helper: self.lifting.analysis.uses(helper) for helper in self.helpers}
        trees = [self.source.tree] if whole else [h.node for h in self.helpers if h in self.lifting.foreign]
        touched: list[ast.AST] = [use.node for found in uses.values() for use in found]
        touched += [helper.node for helper in self.helpers]
        declarations = self.lifting.declarations()
        touched += declarations
        self.program = with_absolute_imports(self.source, touched, trees, package)
        for helper in self.helpers:
            for use in uses[helper]:
                self._call(helper, use)
            self._definition(helper)
        for statement in declarations:
            # What it declares is a parameter now, of which nothing is assigned.
            self.program.take_names(statement, frozenset(statement.names))

    def before_roots(self) -> None:
        """Put every lifted helper directly before the outermost function around it, in the same block."""
        roots: dict[ast.stmt, list[Helper]] = defaultdict(list)
        for helper in self.helpers:
            roots[helper.top].append(helper)
        for root, helpers in roots.items():
            indent = indentation(self.source, root.lineno)
            self.program.above(root, [self.function(helper, indent) for helper in helpers])

    def text(self) -> str:
        """The text that stays."""
        return self.program.text()

    def function(self, helper: Helper, indent: str = "") -> str:
        """The lifted helper's text, at the top of a file or at some indentation."""
        node = self.program.taken[helper.node]
        assert isinstance(node, cst.FunctionDef)
        made = with_docstring_at(node, indentation(self.source, helper.node.lineno), indent)
        return self.program.code(made, helper.node, indent)

    def claims(self, modules: Mapping[Helper, str]) -> list[Lifted]:
        """Claim of every helper, for the proof, its new name, its parameters and where it went."""
        found = []
        for helper in self.helpers:
            callers = [
                c for c in self.helpers if any(callee is helper for callee, _ in self.lifting.calls_in[c])
            ]
            called = self.names[helper].calls
            found.append(
                Lifted(
                    place=helper.place,
                    definition=self.names[helper].definition,
                    passed=tuple(name for name, _ in self.lifting.needs[helper]),
                    names={None: called[None], **{caller.place: called[caller] for caller in callers}},
                    module=modules.get(helper),
                )
            )
        return found

    def _call(self, helper: Helper, use: Use) -> None:
        """A call under the new name, with the captures."""
        caller = self.lifting.enclosing(use.scope)
        name = self.names[helper].calls[caller]
        program, node = self.program, use.node
        if name != node.id:
            program.change(program.names[node], lambda old: old.with_changes(value=name))
        given = [
            cst.Arg(cst.Name(need), keyword=cst.Name(need), equal=_EQUAL)
            for need, _ in self.lifting.needs[helper]
        ]
        if not given:
            return
        assert use.call is not None
        row = node.end_lineno or node.lineno
        block = indentation(self.source, program.around[node].lineno)
        deeper = indentation(self.source, row)[len(block) :]
        width = self.width
        if caller is not None:
            width += len(indentation(self.source, caller.node.lineno))
        length = len(self.source.lines[row - 1].rstrip("\r\n"))
        before = program.calls[node]
        added = sum(len(f", {need}={need}") for need, _ in self.lifting.needs[helper])
        fits = use.in_text or length + added <= width or is_spread(before.args)
        unit = program.module_of(program.around[node]).default_indent
        program.change(before, lambda old: add_arguments(old, given, deeper, unit, fits=fits))

    def _definition(self, helper: Helper) -> None:
        """The definition under its new name, with the captures as parameters, out of its block."""
        program, name = self.program, self.names[helper].definition
        new = []
        for need in self.lifting.needs[helper]:
            stated = self.stated.get((helper, need))
            kind = None if stated is None else cst.Annotation(cst.parse_expression(annotation_text(stated)))
            new.append(cst.Param(cst.Name(need[0]), annotation=kind))

        unit = program.module_of(helper.node).default_indent

        def fits(node: cst.FunctionDef) -> bool:
            first = _header(node)
            return len(first) - len(name) + len(helper.name) <= self.width

        def change(node: Any) -> cst.FunctionDef:
            node = node.with_changes(name=node.name.with_changes(value=name))
            return add_parameters(node, new, unit, fits) if new else node

        program.change(program.nodes[helper.node], change)
        program.take_out(helper.node)


def _header(node: cst.FunctionDef) -> str:
    """The first line of a definition, decorators left out, and a body that stands on it."""
    bare = node.with_changes(leading_lines=[], decorators=[])
    if isinstance(node.body, cst.SimpleStatementSuite):
        bare = bare.with_changes(body=cst.IndentedBlock([cst.SimpleStatementLine([cst.Pass()])]))
    return cst.Module([]).code_for_node(bare).split("\n", 1)[0].rstrip()
