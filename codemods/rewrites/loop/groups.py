"""Groups of a loop's fields: small classes that each hold some of the names that the loop needs."""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

MOST = 15
"""The most fields of a class."""
_FEWEST = 3
_PLAIN = {"enabled", "initial", "last", "max", "min", "new", "num", "per", "start", "total", "use"}


def groups_of(names: Mapping[str, str], taken: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Group names so that no class has more than `MOST` fields.

    ``names`` have the kind of each (``Settings``); those that share a word come together, then those of a
    kind. ``taken`` are names that no class may have.
    """
    left = list(names)
    made: dict[str, tuple[str, ...]] = {}

    def add(stem: str, chosen: Sequence[str]) -> None:
        others = {*taken, *dir(builtins), *keyword.kwlist}
        used = {*others, *made, *map(str.capitalize, keyword.kwlist)}
        fields = {*others, *names, *map(field_of, made)}
        stems = itertools.chain([stem, f"{stem}State"], (f"{stem}{n}" for n in itertools.count(2)))
        made[next(s for s in stems if s not in used and field_of(s) not in fields)] = tuple(chosen)
        left[:] = [name for name in left if name not in chosen]

    while len(left) + len(made) > MOST:
        counts = Counter(word for name in left for word in _words(name))
        shared = [word for word in counts if _FEWEST <= counts[word] <= MOST]
        if shared:
            word = max(shared, key=lambda each: counts[each])
            add(word.capitalize(), [name for name in left if word in _words(name)])
        else:
            kind = Counter(names[name] for name in left).most_common(1)[0][0]
            add(kind, [name for name in left if names[name] == kind][:MOST])
    return made


def _words(name: str) -> list[str]:
    """The words of a name that say what it is about, in the singular, each once."""
    found = dict.fromkeys(re.sub(r"(?<=[hsx])es$|(?<=[^s])s$", "", word) for word in name.split("_"))
    return [w for w in found if len(w) > 2 and w.isalpha() and w.islower() and w not in _PLAIN]


def field_of(group: str) -> str:
    """The field in which a group is handed in: its name in snake case."""
    text = ""
    for index, letter in enumerate(group):
        upper = letter.isupper() and index > 0
        after_lower = upper and not group[index - 1].isupper() and group[index - 1] != "_"
        before_lower = upper and group[index - 1].isupper() and group[index + 1 : index + 2].islower()
        text += "_" * (after_lower or before_lower) + letter.lower()
    return text
