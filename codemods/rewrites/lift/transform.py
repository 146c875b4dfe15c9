"""Lift helpers: their captures become keyword-only parameters, and every call passes them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import libcst as cst

from codemods.equal.lift import Lifted
from codemods.program.helpers import Helper
from codemods.program.lifting import Need
from codemods.program.scopes import Use
from codemods.rewrites.lift.decision import Decision
from codemods.rewrites.naming import Names
from codemods.rewrites.text.file import with_absolute_imports
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
        fits = use.in_text or length + added <= width or _is_spread(before.args)
        unit = program.module_of(program.around[node]).default_indent
        program.change(before, lambda old: _add_arguments(old, given, deeper, unit, fits=fits))

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
            return _add_parameters(node, new, unit, fits) if new else node

        program.change(program.nodes[helper.node], change)
        program.take_out(helper.node)


def _header(node: cst.FunctionDef) -> str:
    """The first line of a definition, decorators left out, and a body that stands on it."""
    bare = node.with_changes(leading_lines=[], decorators=[])
    if isinstance(node.body, cst.SimpleStatementSuite):
        bare = bare.with_changes(body=cst.IndentedBlock([cst.SimpleStatementLine([cst.Pass()])]))
    return cst.Module([]).code_for_node(bare).split("\n", 1)[0].rstrip()


def _row_end(indent: str) -> cst.ParenthesizedWhitespace:
    """The end of a line in parentheses, and the indentation of the next beyond its statement's."""
    return cst.ParenthesizedWhitespace(
        first_line=cst.TrailingWhitespace(), indent=True, last_line=cst.SimpleWhitespace(indent)
    )


def _add_arguments(call: cst.Call, new: Sequence[cst.Arg], row: str, unit: str, *, fits: bool) -> cst.Call:
    """A call with arguments at its end: on its last line if that ``fits``, else one a line.

    ``row`` is how much deeper the call's line begins than its statement's block, ``unit`` one step of
    indentation.
    """
    old = list(call.args)
    if len(old) == 1 and isinstance(generator := old[0].value, cst.GeneratorExp) and not generator.lpar:
        # Its parentheses were those of the call.
        own = generator.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        old = [old[0].with_changes(value=own)]
    if fits and not _is_arranged(call.whitespace_before_args):
        return call.with_changes(args=[*old, *new])
    inner = row + unit
    return call.with_changes(
        args=[*_rows(old, inner), *_rows(new[:-1], inner), *_rows(new[-1:], row)],
        whitespace_before_args=_lead(call.whitespace_before_args, inner),
    )


def _add_parameters(
    node: cst.FunctionDef, new: Sequence[cst.Param], unit: str, fits: Callable[[cst.FunctionDef], bool]
) -> cst.FunctionDef:
    """A definition with keyword-only parameters at the end, before ``**keywords``."""
    given = node.params
    star: Any = given.star_arg
    if not given.kwonly_params and not isinstance(star, cst.Param):
        star = cst.ParamStar()
    flat = given.with_changes(star_arg=star, kwonly_params=[*given.kwonly_params, *new])
    one = node.with_changes(params=flat)
    if given.star_kwarg is not None:
        return one
    if not _is_arranged(node.whitespace_before_params) and (fits(one) or _is_spread([given])):
        return one
    slash = given.posonly_ind if isinstance(given.posonly_ind, cst.ParamSlash) else cst.ParamSlash()
    params = given.with_changes(
        posonly_params=_rows(given.posonly_params, unit),
        posonly_ind=_rows([slash], unit)[0] if given.posonly_params else given.posonly_ind,
        params=_rows(given.params, unit),
        star_arg=_rows([star], unit)[0],
        kwonly_params=[*_rows([*given.kwonly_params, *new[:-1]], unit), *_rows(new[-1:], "")],
    )
    lead = _lead(node.whitespace_before_params, unit)
    return node.with_changes(params=params, whitespace_before_params=lead)


def _lead(lead: cst.BaseParenthesizableWhitespace, inner: str) -> cst.ParenthesizedWhitespace:
    """Make the space before the first of items that have a line each."""
    if not isinstance(lead, cst.ParenthesizedWhitespace):
        return _row_end(inner)
    return lead.with_changes(indent=True, last_line=cst.SimpleWhitespace(inner))


def _is_arranged(lead: cst.BaseParenthesizableWhitespace) -> bool:
    """Tell whether the first item has a line of its own."""
    return isinstance(lead, cst.ParenthesizedWhitespace)


def _is_spread(nodes: Sequence[cst.CSTNode]) -> bool:
    """Tell whether there is a line end in the text of some items."""
    empty = cst.Module([])
    return any("\n" in empty.code_for_node(node) for node in nodes)


def _rows(items: Sequence[Any], inner: str) -> list[Any]:
    """Items with a comma and a line end after each; the comments that stand there stay."""
    found = []
    for item in items:
        gaps = [item.comma.whitespace_after] if isinstance(item.comma, cst.Comma) else []
        changes: dict[str, Any] = {}
        for name in ("whitespace_after_arg", "whitespace_after_param"):
            if hasattr(item, name):
                gaps.append(getattr(item, name))
                changes[name] = NOTHING
        lines = [gap for gap in gaps if isinstance(gap, cst.ParenthesizedWhitespace)]
        end = (
            lines[0].with_changes(indent=True, last_line=cst.SimpleWhitespace(inner))
            if lines
            else _row_end(inner)
        )
        found.append(item.with_changes(comma=cst.Comma(whitespace_after=end), **changes))
    return found
