"""Compose, in memory, every file that a lift makes or changes, and prove it before anyone sees it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.decide.decision import Decision, decide
from codemods.decide.naming import FileNames, Names
from codemods.decide.refusals import Refusal, refuse, rule
from codemods.decide.rules.namespace import seen_from_outside
from codemods.facts.globals import globals_of
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Analysis
from codemods.facts.source import Source, SourceError, decode_source, parse_source, statements_in
from codemods.plans.modules import Layout
from codemods.plans.targets import Request, TargetError, build_targets, source_imports
from codemods.prove.code import NotProven, compile_tree
from codemods.prove.lift import prove_all
from codemods.rewrite.edits import Edit
from codemods.rewrite.lift import Lifted, absolute_imports, first_line, indentation

rule(
    "not-proven",
    "The lifted text does not compile to the same instructions; nothing of it was written. This is a "
    "fault of the tool, "
    "found in time: please report it.",
    "lift this helper by hand",
    refused="",
    lifted="",
)


@dataclass(frozen=True, slots=True)
class Composed:
    """New texts by path, what was decided, and where each lifted helper went."""

    decision: Decision
    files: Mapping[Path, str]
    targets: Mapping[Helper, Path]


def compose(analysis: Analysis, layout: Layout, request: Request) -> Composed:
    """Decide, rewrite and prove; a helper whose proof fails is refused and the rest composed again."""
    refused: dict[Helper, Refusal] = {}
    if request.surroundings is not None:
        for helper in request.wanted:
            refusal = seen_from_outside(
                request.surroundings, analysis.tree, helper, moves=helper in request.targets
            )
            if refusal is not None:
                refused[helper] = refusal
    while True:
        known = globals_of(analysis)
        foreign = {h: known.passed_to(h, request.seams) for h in request.wanted if h in request.targets}
        decision = decide(analysis, request.wanted, foreign, request.seams, refused)
        try:
            return _composed(analysis, layout, request, decision)
        except NotProven as failure:
            culprits = [failure.helper] if failure.helper is not None else decision.lifted
            if not decision.lifted:
                raise
            for helper in culprits:
                refused[helper] = refuse("not-proven", helper.node.lineno, failure.what)


def _composed(analysis: Analysis, layout: Layout, request: Request, decision: Decision) -> Composed:
    if request.targets:
        return _into_modules(analysis, layout, request, decision)
    return _in_place(analysis, layout, request, decision)


def _in_place(analysis: Analysis, layout: Layout, request: Request, decision: Decision) -> Composed:
    """Put every lifted helper directly before the outermost function around it, in the same block."""
    source = analysis.source
    chosen = FileNames(analysis, request.surroundings)
    names = {}
    for helper in decision.lifted:
        name = chosen.choose(helper, None)
        names[helper] = Names(name, defaultdict(lambda name=name: name))  # type: ignore[misc]
    lifted = Lifted(decision, names)
    insertions: dict[int, str] = {}
    for helper in decision.lifted:
        root = helper.root.node
        assert isinstance(root, ast.stmt)
        at = source.starts[first_line(source, root) - 1]
        indent = indentation(source, root.lineno)
        gap = source.newline * (1 if indent else 2)
        crowded = first_line(source, root) > 1 and source.lines[first_line(source, root) - 2].strip()
        insertions.setdefault(at, gap if crowded else "")
        insertions[at] += lifted.function(helper, indent) + gap
    text = lifted.rest([Edit(at, at, new) for at, new in insertions.items()])
    prove_all(decision, names, reread(source, text), {}, None)
    return Composed(decision, {layout.rest: text} if decision.lifted else {}, {})


def reread(source: Source, text: str) -> Source:
    """What an interpreter makes of a text that is written in the source's encoding.

    Raises:
        NotProven: if that is not the text.
    """
    try:
        read = decode_source(source.encode(text), source.path)
    except (SourceError, UnicodeEncodeError) as error:
        raise NotProven(f"what is left is not readable: {error}") from None
    if read.text != text:
        raise NotProven("what is left reads differently in the file's encoding")
    must_compile(read)
    return read


def must_compile(source: Source) -> None:
    """Compile a file that was made.

    Raises:
        NotProven: if the compiler finds what the parser does not.
    """
    try:
        compile_tree(source.tree, ())
    except SyntaxError as error:
        raise NotProven(f"{source.path}:{error.lineno}: does not compile: {error.msg}") from None


def _into_modules(analysis: Analysis, layout: Layout, request: Request, decision: Decision) -> Composed:
    """Write lifted helpers to their files; what is left imports them."""
    source, package = analysis.source, layout.source_package
    targets = build_targets(analysis, layout, decision, request)
    names = {helper: target.names[helper] for target in targets for helper in target.helpers}
    lifted = Lifted(decision, names, package)
    extra: list[Edit] = []
    if decision.lifted:
        extra.append(source_imports(analysis, decision, targets))
    if layout.rest != layout.source and package is not None:
        inside = [helper.node for helper in decision.lifted]
        for statement in _outside(source.tree, inside):
            extra.extend(absolute_imports(source, statement, package))
    text = lifted.rest(extra)
    files = {layout.rest: text}
    trees = {}
    for target in targets:
        files[target.path] = target.render(lifted)
        made = parse_source(files[target.path], layout.shown(target.path))
        must_compile(made)
        trees[target.path] = made.tree
    prove_all(decision, names, reread(source, text), {t: trees[t.path] for t in targets}, package)
    if layout.rest == layout.source and text == source.text:
        del files[layout.rest]
    return Composed(decision, files, {h: t.path for t in targets for h in t.helpers})


def _outside(tree: ast.AST, inside: Sequence[ast.AST]) -> list[ast.AST]:
    """Imports of a tree that are not inside some of its definitions."""
    gone = {node for definition in inside for node in statements_in(definition)}
    return [node for node in statements_in(tree) if isinstance(node, ast.ImportFrom) and node not in gone]


__all__ = ["Composed", "Request", "TargetError", "compose"]
