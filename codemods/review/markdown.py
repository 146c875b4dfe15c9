"""A review as Markdown, for a pull request."""

from __future__ import annotations

from codemods.review.accept import Item, items
from codemods.review.render import headline
from codemods.review.report import Changed, Gone, New, Place, Review

_SIGNS = {"gone": "-", "new": "+"}
# A definition by its side, its file and its name.
Key = tuple[bool, str, str]


def as_markdown(review: Review) -> str:
    """Counts first, then what is left to read of each definition, as it was and as it is.

    Nothing is left out, however long it gets.
    """
    first, *rest = headline(review)
    lines = [f"### {first}", "", *(f"{line}." for line in rest)]
    found = list(items(review))
    moved = _moved(review)
    blocks: dict[str, list[Item]] = {}
    for item in (each for each in found if each.unit):
        name = item.unit.partition(", ")[0]
        title = moved.get((item.kind == "gone", item.path, name), _title(item.unit, item.path))
        blocks.setdefault(title, []).append(item)
    for title, block in blocks.items():
        lines += ["", title, "", "```diff", *map(_line, block), "```"]
    beside = [item for item in found if not item.unit]
    if beside:
        lines += ["", *(f"- {item.kind}: `{item.path}:{item.first}` {_plain(item.text)}" for item in beside)]
    lines += ["" for _ in (*review.stale, *review.not_python)[:1]]
    lines += [f"- stale: {name} is accepted, and is not there" for name in review.stale]
    lines += [f"- not compared: `{path}` is not Python" for path in review.not_python]
    return "\n".join(lines) + "\n"


def _moved(review: Review) -> dict[Key, str]:
    """The titles of definitions that stand elsewhere, or are called otherwise, by both of their sides.

    A definition that is gone and the only new one of its name are told together.
    """
    pairs = [(one.base, one.head) for one in review.of(Changed) if isinstance(one, Changed)]
    gone = [one.base for one in review.outcomes if isinstance(one, Gone)]
    new = [one.head for one in review.outcomes if isinstance(one, New)]
    for before in gone:
        alike = [after for after in new if _name(after) == _name(before)]
        if len(alike) == 1 and [_name(each) for each in gone].count(_name(before)) == 1:
            pairs.append((before, alike[0]))
    found: dict[Key, str] = {}
    for base, head in pairs:
        if (base.path, base.qualname) != (head.path, head.qualname):
            title = f"{_title(head.qualname, head.path)}, before {_title(base.qualname, base.path)}"
            found[True, base.path, base.qualname] = found[False, head.path, head.qualname] = title
    return found


def _name(place: Place) -> str:
    return place.qualname.rpartition(".")[2]


def _title(unit: str, path: str) -> str:
    return f"**{_plain(unit)}** in `{path}`"


def _line(item: Item) -> str:
    sign = _SIGNS.get(item.kind, "!")
    # A fence can't be closed from within: a line never begins with one.
    return f"{sign} {item.first:>5}  {item.text}"


def _plain(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#|" else letter for letter in text)
