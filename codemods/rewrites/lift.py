"""Lift helpers: their captures become keyword-only parameters, and every call passes them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from codemods.equal.lift import Lifted
from codemods.program.lifting import Helper, Need
from codemods.program.scopes import Use
from codemods.rewrites.rules.decision import Decision, Names
from codemods.rewrites.text.file import with_absolute_imports
from codemods.rewrites.text.layout import NOTHING, annotation_text

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
        inner = [root for root in roots if root not in self.source.tree.body]
        for root in inner:
            nodes = [helper.node for helper in roots.pop(root)]
            self.program.before(root, lambda nodes=nodes: [self.program.todo.taken[n] for n in nodes])  # type: ignore[misc]
        for root, helpers in roots.items():
            self.program.above(root, list(map(self.function, helpers)))

    def function(self, helper: Helper) -> str:
        """The lifted helper's text, at the top of a file."""
        return self.program.code(self.program.taken[helper.node], helper.node)

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
        name, program, node = self.names[helper].calls[caller], self.program, use.node
        if name != node.id:
            program.change(program.names[node], lambda old: old.with_changes(value=name))
        given = [
            cst.Arg(cst.Name(need), keyword=cst.Name(need), equal=_EQUAL)
            for need, _ in self.lifting.needs[helper]
        ]
        if given:
            program.change(program.calls[node], lambda old: _add_arguments(old, given))

    def _definition(self, helper: Helper) -> None:
        """The definition under its new name, with the captures as parameters, out of its block."""
        program, name = self.program, self.names[helper].definition
        new = []
        for need in self.lifting.needs[helper]:
            stated = self.stated.get((helper, need))
            kind = None if stated is None else cst.Annotation(cst.parse_expression(annotation_text(stated)))
            new.append(cst.Param(cst.Name(need[0]), annotation=kind))

        def change(node: Any) -> cst.FunctionDef:
            node = node.with_changes(name=node.name.with_changes(value=name))
            return _add_parameters(node, new) if new else node

        program.change(program.nodes[helper.node], change)
        program.take_out(helper.node)


def _add_arguments(call: cst.Call, new: Sequence[cst.Arg]) -> cst.Call:
    """A call with arguments at its end."""
    old = list(call.args)
    if len(old) == 1 and isinstance(generator := old[0].value, cst.GeneratorExp) and not generator.lpar:
        # Its parentheses were those of the call.
        own = generator.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        old = [old[0].with_changes(value=own)]
    return call.with_changes(args=_added(old, new, call.whitespace_before_args))


def _add_parameters(node: cst.FunctionDef, new: Sequence[cst.Param]) -> cst.FunctionDef:
    """A definition with keyword-only parameters at the end, before ``**keywords``."""
    given, added, at = node.params, list[Any](new), len(node.params.params)
    old: list[Any] = [*given.params]
    if isinstance(given.star_arg, cst.MaybeSentinel):
        added.insert(0, cst.ParamStar())
    else:
        old += [given.star_arg, *given.kwonly_params]
    made = _added(old, added, node.whitespace_before_params)
    params = given.with_changes(params=made[:at], star_arg=made[at], kwonly_params=made[at + 1 :])
    return node.with_changes(params=params)


def _added(old: Sequence[Any], new: Sequence[Any], lead: cst.BaseParenthesizableWhitespace) -> list[Any]:
    """Items with more of them: on the last one's line, or one a line if the first one has its own.

    ``lead`` stands before the first one.
    """
    if not old or not isinstance(lead, cst.ParenthesizedWhitespace):
        return [*old, *new]
    row = lead.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
    last, after, end = old[-1], row, new[-1]
    name = "whitespace_after_arg" if isinstance(last, cst.Arg) else "whitespace_after_param"
    gap = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else getattr(last, name, NOTHING)
    if isinstance(gap, cst.ParenthesizedWhitespace):
        # A comment that stands there stays.
        after = gap.with_changes(indent=row.indent, last_line=row.last_line)
        below = gap.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
        end = end.with_changes(comma=cst.Comma(whitespace_after=below))
    changes = {name: NOTHING} if hasattr(last, name) else {}
    between = [item.with_changes(comma=cst.Comma(whitespace_after=row)) for item in new[:-1]]
    return [*old[:-1], last.with_changes(comma=cst.Comma(whitespace_after=after), **changes), *between, end]
