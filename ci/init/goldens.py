"""The first golden of a run: recorded twice, and kept if both are the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from golden.check import Failed, update
from golden.record import find_run
from golden.trace.errors import GoldenError


def record(name: str, root: Path, notify: Callable[[str], None]) -> str | None:
    """Keep the golden of a run that has none; why not, where that can't be.

    Under ``CI=true``, too, where goldens are not renewed: nothing is replaced, and who commits it sees it.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="golden-init-") as scratch:
            found = update(find_run(name, root), root=root, out=Path(scratch) / name, notify=notify)
    except GoldenError as error:
        return str(error)
    if isinstance(found, Failed):
        return f"{found.message} (see `golden doctor {name}`)"
    for path, change in found.changes:
        notify(f"{change} {path.relative_to(root)}")
    return None
