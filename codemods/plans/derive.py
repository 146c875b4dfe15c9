"""Derive the tree that plans make of a frozen source, and compare a tree with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from codemods.plans.chain import files_made, last_plans, plans_before
from codemods.plans.model import PlanError
from codemods.plans.report import FileChange, HelperReport, Report
from codemods.plans.run import root_of, run_plan
from codemods.plans.write import WriteError, write_all
from codemods.program.git import Git
from codemods.program.repository import files_below
from codemods.program.source import SourceError


def run_afresh(path: Path, root: Path | None) -> Report:
    """Carry out a plan in memory, after those that come before it, as if no file that they make were there.

    Raises:
        PlanError, SourceError: if a plan or its source can't be used; PlanError too for a source that is not
            frozen, which the plan has taken apart already.
    """
    return run_plan(path, root, absent=made_by(path, root_of(path, root)))


def made_by(path: Path, base: Path) -> frozenset[Path]:
    """The files that a plan makes, and those that it builds on.

    Raises:
        PlanError: if a plan can't be used, or takes its source apart in place.
    """
    made: set[Path] = set()
    for each, plan, _ in plans_before(path):
        source = base / plan.source
        if plan.rest is None and source not in made and source.exists():
            raise PlanError(
                f"{each}: takes {plan.source} apart in place, so what was there before is gone; "
                "keep the source and name where the rest goes (rest)"
            )
        made |= files_made(plan, base)
    return frozenset(made)


def derive_tree(path: Path, root: Path | None, into: Path) -> Report:
    """Write what a plan makes of its frozen source to a folder, with the project's other files beside it.

    Nothing is written if the report has refusals.

    Raises:
        PlanError, SourceError: as `run_afresh`. WriteError: if there is something in the folder already, or
            it can't be written.
    """
    base = root_of(path, root)
    made = made_by(path, base)
    report = _beside_frozen(run_plan(path, root, absent=made), made, base)
    if report.refused:
        return report
    into = into.resolve()
    try:
        if into.exists() and (not into.is_dir() or any(into.iterdir())):
            raise WriteError(f"{into}: exists already and is not an empty folder; name another")
        others = [file for file in project_files(base) if file not in made and into not in file.parents]
        into.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{into.name}.", dir=into.parent) as scratch:
            tree = Path(scratch) / into.name
            for file in others:
                target = tree / file.relative_to(base)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target, follow_symlinks=False)
            write_all({tree / change.path.relative_to(base): change.after for change in report.files})
            tree.replace(into)
    except OSError as error:
        raise WriteError(f"{into}: can't be written: {error.strerror or error}") from None
    return report


def _beside_frozen(report: Report, made: frozenset[Path], base: Path) -> Report:
    """The report with the frozen sources that files are made of, not what the tree has in their place."""
    files = [replace(change, before=None) if change.path in made else change for change in report.files]
    frozen = {path: path.read_bytes() for path in sorted(report.sources - made)}
    same = [FileChange(path, path.relative_to(base).as_posix(), text, text) for path, text in frozen.items()]
    return replace(report, files=(*same, *files))


def project_files(root: Path) -> Iterator[Path]:
    """The files of a project: what git does not ignore; without git, nothing hidden, built or installed."""
    try:
        listed = Git(root, "").run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except SourceError:
        listed = None
    for name in dict.fromkeys(listed.split(b"\0")) if listed is not None else ():
        file = root / os.fsdecode(name)
        if name and (file.is_symlink() or file.is_file()):
            yield file
    if listed is None:
        yield from map(Path, files_below(root))


@dataclass(frozen=True, slots=True)
class Carried:
    """The tree is what the plan makes, or what a later plan that builds on it makes: ``by``."""

    by: Path | None = None


@dataclass(frozen=True, slots=True)
class Drifted:
    """Files that the plan would make otherwise."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Helpers that can't be lifted as the plan says."""

    helpers: tuple[HelperReport, ...]


PlanState = Carried | Drifted | Refused


def check_plan(path: Path, root: Path | None) -> PlanState:
    """Carry out a plan in memory and compare with the tree.

    Raises:
        PlanError, SourceError: if a plan or its source can't be used.
    """
    return judge_plan(run_plan(path, root), path, root)


def judge_plan(report: Report, path: Path, root: Path | None) -> PlanState:
    """Judge the tree by the outcome of a plan."""
    if report.refused:
        return Refused(report.refused)
    changed = tuple(change.shown for change in report.files if change.changed)
    if not changed:
        return Carried()
    for later in last_plans(path):
        outcome = run_plan(later, root)
        if not outcome.refused and not any(change.changed for change in outcome.files):
            return Carried(later)
    return Drifted(changed)
