"""The text of lifted helpers, and the edits that lifting makes in what stays."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Mapping

from codemods.decide.decision import Decision
from codemods.decide.naming import Names
from codemods.facts.annotations import stated_annotation
from codemods.facts.helpers import Helper
from codemods.facts.imports import resolve_relative
from codemods.facts.source import Source, statements_in
from codemods.rewrite.edits import Edit, apply_edits, reindent
from codemods.rewrite.items import add_items, call_items, header_items, line_limit


class Lifted:
    """All edits of one decision, on the original text."""

    def __init__(self, decision: Decision, names: Mapping[Helper, Names], package: str | None = None) -> None:
        """``package`` is that of the source module; relative imports in helpers that leave it are made
        absolute.
        """
        self.decision = decision
        self.lifting = decision.lifting
        self.source = decision.lifting.tree.source
        self.names = names
        self.width = line_limit(self.source)
        self.edits: list[Edit] = []
        self.regions = {helper: region(self.source, helper) for helper in decision.lifted}
        self._gone: set[ast.stmt] = {helper.node for helper in decision.lifted}
        for helper in decision.lifted:
            self._calls(helper)
            self._header(helper)
            if helper in self.lifting.foreign and package is not None:
                self.edits.extend(absolute_imports(self.source, helper.node, package))
        self._ordered = sorted(self.edits)

    def _calls(self, helper: Helper) -> None:
        passed = [f"{name}={name}" for name, _ in self.lifting.needs[helper]]
        for use in self.lifting.analysis.uses(helper):
            assert use.call is not None
            caller = self.lifting.enclosing(use.scope)
            start, end = self.source.span(use.node)
            name = self.names[helper].calls[caller]
            if name != use.node.id:
                self.edits.append(Edit(start, end, name))
            if not passed:
                continue
            width = self.width
            if caller is not None:
                width += len(indentation(self.source, caller.node.lineno))
            if _is_lone_generator(self.source, use.call):
                start, end = self.source.span(use.call.args[0])
                self.edits.append(Edit(start, start, "("))
                self.edits.append(Edit(end - 1, end - 1, "), " + ", ".join(passed)))
                continue
            items = call_items(self.source, use.call)
            self.edits.extend(add_items(self.source, items, passed, width, split=not use.in_text))

    def _header(self, helper: Helper) -> None:
        node = helper.node
        definition = self.names[helper].definition
        if definition != node.name:
            match = re.compile(r"(?:async(?:\s|\\\r?\n)+)?def(?:\s|\\\r?\n)+").match(
                self.source.text, self.source.offset(node.lineno, node.col_offset)
            )
            assert match is not None
            self.edits.append(Edit(match.end(), match.end() + len(node.name), definition))
        needs = self.lifting.needs[helper]
        if not needs:
            return
        new = [] if node.args.kwonlyargs or node.args.vararg else ["*"]
        for need in needs:
            annotation = stated_annotation(self.lifting.analysis, need)
            text = "" if annotation is None else ": " + ast.unparse(annotation)
            new.append(need[0] + text)
        if node.args.kwarg is not None:
            self.edits.append(_before_keywords(self.source, node.args.kwarg, new))
            return
        width = self.width + len(indentation(self.source, node.lineno))
        self.edits.extend(add_items(self.source, header_items(self.source, node), new, width))

    def function(self, helper: Helper, indent: str = "") -> str:
        """The lifted helper's text at some depth, without blank lines around it."""
        start, end = self.regions[helper]
        nested = [self._removal(inner) for inner in self.lifting.nested(helper)]
        shifted = shift_docstring(self.source, helper, indent)
        first = bisect.bisect_left(self._ordered, start, key=lambda edit: edit.start)
        last = bisect.bisect_right(self._ordered, end, key=lambda edit: edit.start)
        text = apply_edits(self.source.text, [*self._ordered[first:last], *nested, *shifted], start, end)
        text = text if text.endswith(("\n", "\r")) else text + self.source.newline
        return reindent(text, indentation(self.source, helper.node.lineno), indent)

    def _removal(self, helper: Helper) -> Edit:
        block = self.lifting.tree.blocks[helper.node]
        return removal(self.source, helper, self.regions[helper], block, self._gone)

    def rest(self, extra: list[Edit]) -> str:
        """The text that stays, with further edits."""
        removed = [self._removal(helper) for helper in self.decision.lifted]
        return apply_edits(self.source.text, [*removed, *self.edits, *extra])


def absolute_imports(source: Source, tree: ast.AST, package: str) -> list[Edit]:
    """Edits that write the relative imports in a tree as absolute ones."""
    edits = []
    for node in statements_in(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            start, _ = source.span(node)
            match = re.compile(r"from\s*([.\s]+[\w.]*)(?=\s)").match(source.text, start)
            assert match is not None
            written = "from " + resolve_relative(package, node.level, node.module)
            edits.append(Edit(start, match.end(), written))
    return edits


def shift_docstring(source: Source, helper: Helper, indent: str) -> list[Edit]:
    """Edits that move the lines of a helper's docstring along with it, where they are indented like it."""
    first = helper.node.body[0]
    if not (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return []
    assert first.end_lineno is not None
    prefix = indentation(source, helper.node.lineno)
    lines = range(first.lineno + 1, first.end_lineno + 1)
    if not all(source.lines[n - 1].startswith(prefix) or not source.lines[n - 1].strip() for n in lines):
        return []
    starts = [source.starts[n - 1] for n in lines if source.lines[n - 1].startswith(prefix)]
    return [Edit(start, start + len(prefix), indent) for start in starts]


def indentation(source: Source, line: int) -> str:
    """Leading blanks of a line."""
    match = re.match(r"[ \t]*", source.lines[line - 1])
    assert match is not None
    return match.group()


def _before_keywords(source: Source, keywords: ast.arg, new: list[str]) -> Edit:
    """The edit that puts parameters before ``**keywords``."""
    at = source.text.rindex("**", 0, source.span(keywords)[0])
    return Edit(at, at, "".join(f"{item}, " for item in new))


def first_line(source: Source, node: ast.stmt) -> int:
    """First line of a definition: decorators, and comments that stand directly above at the same depth."""
    lines = source.lines
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    prefix = indentation(source, first)
    # A comment that opens a section (# --- name) belongs to what follows as a whole.
    while first > 1 and re.match(re.escape(prefix) + r"#(?!\s*[-=#*]{3})", lines[first - 2]):
        first -= 1
        if first <= 2:
            # A comment at the top (licence, encoding, interpreter) belongs to the file.
            return min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return first


def region(source: Source, helper: Helper) -> tuple[int, int]:
    """Offsets of a helper's lines, with comments that belong to it."""
    node, lines = helper.node, source.lines
    first = first_line(source, node)
    assert node.end_lineno is not None
    prefix, last = indentation(source, node.lineno), node.end_lineno
    for number in range(last + 1, len(lines) + 1):
        line = lines[number - 1]
        if line.strip() and not (
            line.lstrip(" \t").startswith("#") and len(indentation(source, number)) > len(prefix)
        ):
            break
        if line.strip():
            last = number
    return source.starts[first - 1], source.starts[last]


def removal(
    source: Source, helper: Helper, region: tuple[int, int], block: list[ast.stmt], gone: set[ast.stmt]
) -> Edit:
    """The edit that takes a helper out of its block, with the blank lines that only set it apart.

    ``gone`` are all definitions that are taken out.
    """
    start, end = region
    first, last = bisect.bisect_left(source.starts, start) + 1, bisect.bisect_left(source.starts, end)
    lines = source.lines
    before, after = first - 1, last
    while before > 0 and not lines[before - 1].strip():
        before -= 1
    while after < len(lines) and not lines[after].strip():
        after += 1
    left = [statement for statement in block if statement not in gone]
    needs_filler = not left or _becomes_docstring(helper, block, left)
    if needs_filler and next(statement for statement in block if statement in gone) is helper.node:
        return Edit(start, end, f"{indentation(source, helper.node.lineno)}pass{source.newline}")
    blank_before, blank_after = first - 1 - before, after - last
    keep = max(0, blank_after - blank_before) if blank_before or block[-1] is helper.node else 0
    return Edit(start, source.starts[after], "".join(lines[last : last + keep]))


def _becomes_docstring(helper: Helper, block: list[ast.stmt], left: list[ast.stmt]) -> bool:
    """Whether a string would become the outer function's docstring."""
    first = left[0]
    return (
        block is getattr(helper.outer.node, "body", None)
        and first is not block[0]
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def _is_lone_generator(source: Source, call: ast.Call) -> bool:
    """Whether a call's parentheses are also those of its only argument."""
    return (
        len(call.args) == 1
        and not call.keywords
        and isinstance(call.args[0], ast.GeneratorExp)
        and source.span(call.args[0])[1] == source.span(call)[1]
    )
