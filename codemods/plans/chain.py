"""Plans that build on one another."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from codemods.plans.model import Plan, PlanError, line_of, load_plan


class Loaded(NamedTuple):
    """A plan, its file, and the file's text, for the lines of messages."""

    path: Path
    plan: Plan
    text: str

    def place(self, key: str, index: int = 0) -> str:
        """Where a key or a quoted name stands, from the ``index``-th table of moves on."""
        return f"{self.path}:{line_of(self.text, key, index)}"


def files_made(plan: Plan, base: Path) -> frozenset[Path]:
    """The files that a plan makes in a project, but for the source that it takes apart in place."""
    folder = base / plan.root
    names = [*(move.to for move in plan.move), plan.rest, plan.loop and plan.loop.to]
    return frozenset(folder / name for name in names if name)


def plans_before(path: Path) -> list[Loaded]:
    """A plan after all those that it builds on, each once.

    Raises:
        PlanError: if a plan can't be used or comes after itself.
    """
    found: dict[Path, Loaded] = {}

    def visit(path: Path, around: tuple[Path, ...]) -> None:
        loaded = Loaded(path, *load_plan(path, str(path)))
        for name in loaded.plan.after:
            before = path.parent / name
            try:
                itself = before.resolve() in (*around, path.resolve())
            except (OSError, RuntimeError, ValueError) as error:
                raise PlanError(f"{loaded.place('after')}: after: {name!r} names no file: {error}") from None
            if itself:
                raise PlanError(f"{loaded.place(name)}: {name} comes after this plan itself")
            visit(before, (*around, path.resolve()))
        found.setdefault(path.resolve(), loaded)

    visit(path, ())
    return list(found.values())


def last_plans(path: Path) -> list[Path]:
    """The plans of the same folder that build on this one, directly or not, and that none builds on.

    A file there that is no plan has nothing to do with it.
    """
    follows: dict[Path, set[Path]] = {}
    for other in sorted(path.parent.glob("*.toml")):
        try:
            plan, _ = load_plan(other, str(other))
        except PlanError:
            continue
        for name in plan.after:
            follows.setdefault((other.parent / name).resolve(), set()).add(other)
    ends: list[Path] = []
    waiting, seen = [path], {path.resolve()}
    while waiting:
        current = waiting.pop()
        later = follows.get(current.resolve(), set())
        if not later and current != path:
            ends.append(current)
        for other in sorted(later):
            if other.resolve() not in seen:
                seen.add(other.resolve())
                waiting.append(other)
    return sorted(ends)
