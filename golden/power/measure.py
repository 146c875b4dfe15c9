"""From a tree and what is asked for to the answer: copies, plan, trials."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from golden.power.mistakes import Mistake
from golden.power.plan import NothingChanged, Plan, Request, make_plan
from golden.power.result import Planted, Power, RunTold
from golden.power.text import planted_line
from golden.power.trees import Trees, copies
from golden.power.trial import plant
from golden.reach.changed import compare_files
from golden.record.git import changed_python, worktree
from golden.trace.errors import UnusableInput


def measure(
    root: Path,
    asked: Request,
    *,
    say: Callable[[str], None],
    begin: Callable[[Plan], None] = lambda plan: None,
) -> Power:
    """Plant mistakes in copies of the tree ``root``; ``begin`` is given the plan first.

    Raises `NothingComparable` where no mistake can be tried, and other `GoldenError`.
    """
    workers = asked.workers or len(os.sched_getaffinity(0))
    shared = sorted({path for run in asked.runs if run.data for path in run.data.paths})
    with contextlib.ExitStack() as stack:
        trees = stack.enter_context(copies(root, workers, shared))
        files = _files(asked.paths, root, trees)
        touched = _touched(root, asked.base, files) if asked.base is not None else None
        if touched is not None:
            files = [name for name in files if name in touched]
            if not files:
                raise NothingChanged(f"no line of Python that can run was changed since {asked.base}")
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="golden-power-")))
        plan = make_plan(asked, files, touched, trees, out=scratch, notify=say)
        begin(plan)

        def each(number: int, planted: Planted) -> None:
            say(planted_line(number, len(plan.drawn), planted))

        return _carry_out(plan, trees, out=scratch, each=each)


def _carry_out(plan: Plan, trees: Trees, *, out: Path, each: Callable[[int, Planted], None]) -> Power:
    """Plant what is planned. ``each`` is told how many are done, and what came of one."""
    asked = plan.asked
    deadline = None if asked.minutes is None else time.monotonic() + asked.minutes * 60

    def one(mistake: Mistake) -> Planted | None:
        if deadline is not None and time.monotonic() > deadline:
            return None
        runs = sorted((plan.references[name] for name in mistake.runs), key=lambda each: each.seconds)
        with trees.lent() as tree:
            answers = plant(mistake, runs, tree, out=out / "planted")
        return Planted(mistake, answers)

    found: dict[str, Planted] = {}
    with ThreadPoolExecutor(max_workers=plan.workers) as pool:
        going = [pool.submit(one, mistake) for mistake in plan.drawn]
        try:
            for future in as_completed(going):
                if (planted := future.result()) is not None:
                    found[planted.mistake.name] = planted
                    each(len(found), planted)
        finally:
            for future in going:
                future.cancel()
    reaches = {name: sum(name in m.runs for m in plan.candidates.found) for name in plan.references}
    return Power(
        base=asked.base,
        possible=len(plan.candidates.found),
        unreached=plan.candidates.unreached,
        idle=plan.candidates.idle,
        equivalent=plan.equivalent,
        planned=len(plan.drawn),
        runs=tuple(
            RunTold(name=name, seconds=round(each.seconds, 1), reaches=reaches[name])
            for name, each in plan.references.items()
        ),
        planted=tuple(found[m.name] for m in plan.drawn if m.name in found),
    )


def _files(paths: Sequence[str], root: Path, trees: Trees) -> list[str]:
    """The Python files among those of the tree that are at or below some paths; all of them for none."""
    python = [name for name in trees.files if name.endswith(".py") and not (root / name).is_symlink()]
    if not paths:
        return python
    chosen: set[str] = set()
    for path in map(Path, paths):
        found = {name for name in python if path in (Path(name), *Path(name).parents)}
        if not found:
            raise UnusableInput(f"{path}: no Python file of the repository is there")
        chosen |= found
    return sorted(chosen)


def _touched(root: Path, base: str, files: Sequence[str]) -> Mapping[str, frozenset[int]]:
    known = set(files)
    changed = [name for name in changed_python(root, base, None) if name in known]
    with worktree(root, base, submodules=False) as before:
        return compare_files(before, root, changed).after.lines
