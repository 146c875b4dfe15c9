"""Golden runs of both versions: each recorded once, however many checks ask what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ci.base import Base
from ci.checks.check import Context
from ci.checks.places import folder_of
from ci.checks.sides import runs_of
from golden.check.ab import AbResult, Side, ab, between
from golden.reach.changes import Change
from golden.reach.evidence import Evidence, evidence


@dataclass(frozen=True, slots=True)
class Compared:
    """A run at the base and here; ``data`` is the folder that both were given."""

    left: Side
    right: Side
    result: AbResult
    data: Path | None

    def evidence(self, since: Change) -> Evidence:
        """Return the lines of the change that it executed."""
        return evidence(since, {self.right.run.name: self.result.reached})


def compared(context: Context, base: Base, name: str) -> Compared:
    """Run both versions, the base twice. Raises `GoldenError`, the same one each time."""
    return context.once(f"compared {name}", lambda: _compare(context, base, name))


def folder(context: Context, name: str) -> Path:
    """Where the traces of a run are."""
    return context.scratch / folder_of(name)


def change(context: Context, base: Base) -> Change:
    """The lines of Python that are not those of the base."""
    return context.once("change", lambda: between(context.root, base.commit, None, base.root, context.root))


def _compare(context: Context, base: Base, name: str) -> Compared:
    pair = runs_of(context, base, name)
    left = Side(f"base ({base.ref})", pair.base, base.runnable)
    right = Side("head (working tree)", pair.head, context.root)
    data = pair.head.data_folder()
    base.share(pair.data)
    files = change(context, base).files
    return Compared(left, right, ab(left, right, out=folder(context, name), data=data, reach=files), data)
