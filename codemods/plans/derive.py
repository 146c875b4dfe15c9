"""Derive the tree that plans make of a frozen source."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from codemods.plans.report import Report
from codemods.plans.run import root_of, run_plan
from codemods.plans.write import WriteError, write_all
from codemods.program.git import Git
from codemods.program.repository import files_below
from codemods.program.source import SourceError


def derive_tree(path: Path, root: Path | None, into: Path) -> Report:
    """Write what a plan makes of its frozen source to a folder, with the project's other files beside it.

    Nothing is written if the report has refusals.

    Raises:
        PlanError, SourceError: as `run_plan`. WriteError: if there is something in the folder already, or it
            can't be written.
    """
    base, into = root_of(path, root), into.resolve()
    report = run_plan(path, root, afresh=True)
    if report.refused:
        return report
    made = {change.path: change.after for change in report.files}
    try:
        if into.exists() and (not into.is_dir() or any(into.iterdir())):
            raise WriteError(f"{into}: exists already and is not an empty folder; name another")
        for file in _project_files(base):
            if file not in made and into not in file.parents:
                target = into / file.relative_to(base)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target, follow_symlinks=False)
        write_all({into / path.relative_to(base): data for path, data in made.items()})
    except OSError as error:
        raise WriteError(f"{into}: can't be written: {error.strerror or error}") from None
    return report


def _project_files(root: Path) -> list[Path]:
    """List the files of a project: what git does not ignore; without git, nothing hidden, built or
    installed.
    """
    try:
        listed = Git(root, "").run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except SourceError:
        return list(map(Path, files_below(root)))
    files = [root / os.fsdecode(name) for name in dict.fromkeys(listed.split(b"\0")) if name]
    return [file for file in files if file.is_symlink() or file.is_file()]
