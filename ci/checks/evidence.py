"""The change itself: what of it is proven equal, and what was read and accepted."""

from __future__ import annotations

from collections import Counter

from ci.base import Base
from ci.checks.check import Context
from ci.config import Evidence
from ci.verdicts import CouldNotRun, Failed, Passed, Place, Verdict
from codemods.facts import SourceError
from codemods.review.accept import accept, items
from codemods.review.markdown import as_markdown
from codemods.review.render import proven
from codemods.review.report import Review
from codemods.review.review import review
from codemods.review.trees import tree_at, working_tree


def evidence(context: Context, wanted: Evidence, base: Base) -> Verdict:
    """Review the working tree against the base; what is neither proven nor accepted fails."""
    try:
        before, after = tree_at(base.commit, context.root), working_tree(context.root)
        found = review(before, after, wanted.paths)
        if wanted.accepted is not None and (context.root / wanted.accepted).exists():
            found = accept(found, before, context.root / wanted.accepted)
    except SourceError as error:
        return CouldNotRun(str(error))
    if found.clean:
        return Passed(_counts(found))
    places = [Place(f"{item.kind}: {item.text} ({item.id})", item.path, item.first) for item in items(found)]
    places += [Place(f"{name} is accepted, and is not there", wanted.accepted or "") for name in found.stale]
    kinds = Counter(item.kind for item in items(found))
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    stale = [f"{len(found.stale)} accepted that are not there"] if found.stale else []
    left = "; ".join([*([f"left to read: {told}"] if told else []), *stale, _counts(found)])
    return Failed(left, tuple(places), context.keep("review.md", as_markdown(found)))


def _counts(found: Review) -> str:
    accepted = f", {len(found.accepted)} places accepted" if found.accepted else ""
    return f"{proven(found)} of {len(found.outcomes)} definitions proven equal{accepted}"
