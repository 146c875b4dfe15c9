"""Plans that build on one another, and what each says of a project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from codemods.plans.lift import rebound_in
from codemods.plans.model import Move, Plan, PlanError, line_of, load_plan
from codemods.plans.site import Layout
from codemods.program.patches import Seam


class Loaded(NamedTuple):
    """A plan, its file, and the file's text, for the lines of messages."""

    path: Path
    plan: Plan
    text: str

    def place(self, key: str, index: int = 0) -> str:
        """Where a key or a quoted name stands, from the ``index``-th table of moves on."""
        return f"{self.path}:{line_of(self.text, key, index)}"

    def error(self, what: object, key: str, index: int = 0) -> PlanError:
        """Report an error at the place where the plan says it."""
        return PlanError(f"{self.place(key, index)}: {what}")


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
                raise loaded.error(f"after: {name!r} names no file: {error}", "after") from None
            if itself:
                raise loaded.error(f"{name} comes after this plan itself", name)
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


def expanded(move: Move, helpers: list[str]) -> list[str]:
    """The names of a move, with ``*`` replaced by all helpers that are not excepted."""
    found: list[str] = []
    for name in move.names:
        found.extend([h for h in helpers if h not in move.except_] if name == "*" else [name])
    return found


def find_targets(loaded: Loaded, layout: Layout) -> list[tuple[Move, Path]]:
    """The moves of a plan, each with its file.

    Raises:
        PlanError: if that is the source itself.
    """
    moves = []
    for index, move in enumerate(loaded.plan.move):
        target = layout.root / loaded.plan.root / move.to
        if target in (layout.source, layout.rest):
            raise loaded.error(f"{move.to} is the source itself", move.to, index)
        moves.append((move, target))
    return moves


def docstrings_of(moves: Sequence[tuple[Move, Path]]) -> dict[Path, str]:
    """The docstrings of files that moves make."""
    return {target: move.docstring for move, target in moves if move.docstring is not None}


def seams_of(loaded: Loaded, layout: Layout) -> tuple[list[Seam], frozenset[str]]:
    """Seams found in the plan's tests, and the names of these and those to be kept.

    Raises:
        PlanError: if a folder of tests is not there.
    """
    asked = loaded.plan.seams
    tests = [layout.root / folder for folder in asked.tests]
    for folder, given in zip(tests, asked.tests, strict=True):
        if not folder.exists():
            raise loaded.error(f"no such folder: {given}", given)
    seams = rebound_in([*tests, layout.root], layout)
    return seams, frozenset([*asked.keep, *(seam.name for seam in seams)])
