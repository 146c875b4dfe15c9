"""The change itself: what of it is proven equal, what the golden runs execute, what was read and accepted."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ci.base import Base
from ci.checks.check import Context
from ci.checks.compared import compared
from ci.config import Evidence
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.api import SourceError
from codemods.review.accept import Item, accept, items
from codemods.review.markdown import as_markdown
from codemods.review.render import proven
from codemods.review.report import Review
from codemods.review.review import review
from codemods.review.trees import tree_at, working_tree
from golden.reach.lines import together
from golden.trace.errors import GoldenError, NothingComparable


def evidence(context: Context, wanted: Evidence, base: Base) -> Verdict:
    """Review the working tree against the base; what is neither proven nor run nor accepted fails."""
    if uncompared := sorted({*wanted.runs} - {*context.config.runs}):
        return CouldNotRun(
            f"runs of [tool.gate] does not compare {', '.join(uncompared)}: that it ran says nothing"
        )
    try:
        before, after = tree_at(base.commit, context.root), working_tree(context.root)
        found = review(before, after, wanted.paths)
        if wanted.accepted is not None and (context.root / wanted.accepted).exists():
            found = accept(found, before, context.root / wanted.accepted)
        left = list(items(found))
        ran = _reached(context, base, wanted.runs, left) if wanted.runs else frozenset()
    except (SourceError, GoldenError) as error:
        return CouldNotRun(str(error))
    left = [item for item in left if item not in ran]
    counts = _counts(found) + (f", {len(ran)} changed statements ran" if wanted.runs else "")
    if not left and not found.stale:
        return Passed(counts)
    places = [Place(f"{item.kind}: {item.text} ({item.id})", item.path, item.first) for item in left]
    places += [Place(f"{name} is accepted, and is not there", wanted.accepted or "") for name in found.stale]
    kinds = Counter(item.kind for item in left)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    stale = [f"{len(found.stale)} accepted that are not there"] if found.stale else []
    neither = f"neither proven{', run' if wanted.runs else ''} nor accepted: {told}"
    detail = "; ".join([*([neither] if told else []), *stale, counts])
    kept = context.keep("review.md", as_markdown(found))
    return Failed(detail, tuple(places), kept)


def _reached(context: Context, base: Base, names: Sequence[str], left: list[Item]) -> frozenset[Item]:
    """The changed statements of either side that at least one run executes."""
    if not left:
        return frozenset()
    sides = [compared(context, base, name).result.reached for name in names]
    gone, new = (together(side[index] for side in sides if side is not None) for index in (0, 1))
    if problem := gone.problem or new.problem:
        raise NothingComparable(f"which lines ran was not measured: {problem}")
    places = {"gone": (base.root, gone), "new": (context.root, new)}
    return frozenset(
        item
        for item in left
        if item.kind in places and _ran(item, places[item.kind][0], places[item.kind][1].files.get(item.path))
    )


def _ran(item: Item, root: Path, lines: frozenset[int] | None) -> bool:
    """Return whether a statement ran; the first line of a function did if something of its body did."""
    if not lines:
        return False
    if item.text.startswith(("def ", "async def ", "@")):
        tree = ast.parse((root / item.path).read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _covers(item, node.lineno):
                first, last = node.body[0].lineno, node.end_lineno or node.lineno
                return any(first <= line <= last for line in lines)
    return any(_covers(item, line) for line in lines)


def _covers(item: Item, line: int) -> bool:
    return item.first <= line <= item.last


def _counts(found: Review) -> str:
    accepted = f", {len(found.accepted)} places accepted" if found.accepted else ""
    others = len(found.not_python)
    uncompared = (
        f", {others} {'file' if others == 1 else 'files'} not compared (not Python)" if others else ""
    )
    return f"{proven(found)} of {len(found.outcomes)} definitions proven equal{accepted}{uncompared}"
