"""Check files, or the same files of a git commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codemods.hotpath.config import Config, read_config
from codemods.hotpath.results import Report
from codemods.hotpath.trees import File, read_commit, read_files, root_of


def check(
    paths: Sequence[Path],
    config: Config | None = None,
    *,
    root: Path | None = None,
) -> Report:
    """Find what stalls the device in the hot loops of some files and folders.

    Without a configuration that of the project's ``pyproject.toml`` counts.

    Raises:
        SourceError: for a path that is not there, a file that is not Python, a wrong configuration.
    """
    base = root_of(paths) if root is None else root
    settings = read_config(base) if config is None else config
    return check_files(read_files(paths, base, settings.exclude), settings)


def check_commit(
    reference: str,
    paths: Sequence[Path],
    config: Config | None = None,
    *,
    root: Path | None = None,
) -> Report:
    """The same of the files that a git commit has at these paths; raises as `check`."""
    base = root_of(paths) if root is None else root
    settings = read_config(base) if config is None else config
    return check_files(read_commit(reference, paths, base, settings.exclude), settings)


def check_files(files: Sequence[File], config: Config) -> Report:
    """The same of files that were read."""
    from codemods.hotpath.engine import analyse

    return analyse(files, config)
