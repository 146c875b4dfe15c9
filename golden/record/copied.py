"""A copy of a repository for one run, without what earlier runs left there."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from golden.record.git import files_of, ignored_below, share, top_of, untracked
from golden.record.run import Run
from golden.trace.errors import UnusableInput

_SHOWN = 3


@contextlib.contextmanager
def own_tree(run: Run, root: Path, beside: Path | None = None) -> Iterator[Path]:
    """The folder to run in: a copy where every file of the tree is compared and git knows which there are.

    The copy holds what git keeps or would keep, and links to what ``[data] paths`` names. That of another
    version also holds what lies ``beside`` its files in the working tree, so that no side alone finds it.
    Raises `UnusableInput` if the tree can't be copied.
    """
    top = top_of(root) if run.outputs.everything else None
    files = files_of(top) if top is not None else None
    if top is None or files is None:
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="golden-copy-", ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch).resolve() / "tree"
        place = copy / root.relative_to(top)
        try:
            place.mkdir(parents=True)
            for name in files:
                _copy(top / name, copy / name)
            if beside is not None:
                for name in untracked(beside):
                    if not (place / name).exists():
                        _copy(beside / name, place / name)
        except OSError as error:
            raise UnusableInput(f"can't copy {top} for run {run.name}: {error}") from None
        share(run.data.paths if run.data else (), root, place)
        yield place


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def not_copied(run: Run, root: Path) -> str:
    """Advice on a program that misses a file which git ignores; empty where that can't be why."""
    top = top_of(root) if run.outputs.everything else None
    ignored = ignored_below(root) if top is not None else []
    if not ignored:
        return ""
    more = f" and {len(ignored) - _SHOWN} more" if len(ignored) > _SHOWN else ""
    shown = ", ".join(ignored[:_SHOWN])
    return (
        f"; it ran in a copy without what git ignores ({shown}{more}): name what it reads with "
        "--data PATH, or in [data] paths of its run file"
    )
