"""What a command line names outside of the repository: trees of other versions lie elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def anchored(words: Sequence[str], root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words with relative paths out of the repository made absolute, and the paths that were."""
    changed, found = [], []
    for word in words:
        option, equals, value = word.rpartition("=")
        path = root / value
        if ".." in Path(value).parts and path.exists() and not path.resolve().is_relative_to(root):
            found.append(value)
            word = f"{option}{equals}{path.resolve()}"
        changed.append(word)
    return tuple(changed), tuple(found)
