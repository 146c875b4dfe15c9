"""From a tree and what is asked for to the mutation score: copies, plan, trials."""

from __future__ import annotations

import functools
import os
import tempfile
import time
import types
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from golden.check.progress import progress
from golden.mutate.copies import Snapshot, snapshot
from golden.mutate.mutants import Mutant
from golden.mutate.original import originals
from golden.mutate.plan import NothingChanged, Plan, Request, make_plan, same_program
from golden.mutate.result import Outcome, Score
from golden.mutate.text import outcome_line
from golden.mutate.trial import try_out
from golden.reach.changes import compare_files, compiled
from golden.record.git import changed_python, worktree
from golden.trace.errors import UnusableInput


def measure(
    root: Path,
    asked: Request,
    *,
    begin: Callable[[Plan, int], None] = lambda plan, workers: None,
) -> Score:
    """Run mutants of the tree ``root``, in copies of it; ``begin`` is given the plan and the workers first.

    Raises `NothingComparable` where there is no mutant to run, and other `GoldenError`.
    """
    workers = asked.workers or len(os.sched_getaffinity(0))
    shared = sorted({path for run in asked.runs if run.data for path in run.data.paths})
    with snapshot(root, shared) as tree, tempfile.TemporaryDirectory(prefix="golden-mutate-") as scratch:
        files, touched = _files(asked.paths, root, tree), None
        if asked.base is not None:
            touched = _touched(root, asked.base, files)
            files = [name for name in files if name in touched]
            if not files:
                raise NothingChanged(f"no line of Python that can run was changed since {asked.base}")
        known = originals(asked.runs, tree, files, out=Path(scratch), workers=workers)
        plan = make_plan(asked, tree.root, files, touched, known)
        begin(plan, workers)
        return _run_all(plan, tree, asked.minutes, workers, out=Path(scratch))


def _run_all(
    plan: Plan,
    tree: Snapshot,
    minutes: float | None,
    workers: int,
    *,
    out: Path,
) -> Score:
    """Run what is planned, as far as the time goes."""
    equivalent: list[Mutant] = []
    deadline = None if minutes is None else time.monotonic() + minutes * 60

    @functools.cache
    def original(path: str) -> tuple[bytes, types.CodeType | None]:
        data = (tree.root / path).read_bytes()
        return data, compiled(data)

    def one(mutant: Mutant) -> Outcome | None:
        if deadline is not None and time.monotonic() > deadline:
            return None
        # Asked when its turn comes: of a long file, to compile each of its mutants takes minutes.
        data, program = original(mutant.path)
        if same_program(program, compiled(mutant.applied(data))):
            equivalent.append(mutant)
            return None
        runs = sorted((plan.originals[name] for name in mutant.runs), key=lambda each: each.seconds)
        return Outcome(mutant, try_out(mutant, runs, tree, out=out / "mutants"))

    with ThreadPoolExecutor(max_workers=workers) as pool:
        going = [pool.submit(one, mutant) for mutant in plan.drawn]
        done = 0
        try:
            for future in as_completed(going):
                if (outcome := future.result()) is not None:
                    done += 1
                    progress.say(outcome_line(done, len(plan.drawn), outcome))
        finally:
            pool.shutdown(cancel_futures=True)
    outcomes = tuple(outcome for future in going if (outcome := future.result()) is not None)
    return Score(plan, outcomes, len(equivalent))


def _files(paths: Sequence[str], root: Path, tree: Snapshot) -> list[str]:
    """Return the Python files of the tree that are at or below some paths; all of them for none."""
    python = [name for name in tree.files if name.endswith(".py") and not (root / name).is_symlink()]
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
    changed = [name for name in changed_python(root, base, None) if name in set(files)]
    with worktree(root, base, submodules=False) as before:
        return compare_files(before, root, changed)[1]
