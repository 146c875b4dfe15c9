"""A review as Markdown, for a pull request."""

from __future__ import annotations

import itertools

from codemods.review.accept import Item, items
from codemods.review.render import headline
from codemods.review.report import Review

# A forge cuts longer comments off.
_MOST = 200
_SIGNS = {"gone": "-", "new": "+"}


def as_markdown(review: Review) -> str:
    """Counts first, then what is left to read, unit by unit; what is beside units in a list."""
    first, *rest = headline(review)
    lines = [f"### {first}", "", *(f"{line}." for line in rest)]
    found = list(items(review))
    shown = found[:_MOST]
    for (path, unit), group in itertools.groupby(
        (item for item in shown if item.unit), key=lambda item: (item.path, item.unit)
    ):
        lines += ["", f"**{_plain(unit)}** in `{path}`", "", "```diff"]
        lines += [_line(item) for item in group]
        lines += ["```"]
    beside = [item for item in shown if not item.unit]
    if beside:
        lines += ["", *(f"- {item.kind}: `{item.path}:{item.first}` {_plain(item.text)}" for item in beside)]
    if len(found) > len(shown):
        lines += ["", f"{len(found) - len(shown)} more are not shown here."]
    lines += ["" for name in review.stale[:1]]
    lines += [f"- stale: {name} is accepted, and is not there" for name in review.stale]
    return "\n".join(lines) + "\n"


def _line(item: Item) -> str:
    sign = _SIGNS.get(item.kind, "!")
    # A fence can't be closed from within: a line never begins with one.
    return f"{sign} {item.first:>5}  {item.text}"


def _plain(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#|" else letter for letter in text)
