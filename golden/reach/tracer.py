"""Notes each line of some files when it runs; loaded into every process of a run before anything else.

coverage.py traces. Where it can't, the record says so.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Of coverage.py; it knows no name for all.
_WARNINGS = [
    *("already-imported", "couldnt-parse", "dynamic-conflict", "module-not-imported", "module-not-measured"),
    *("module-not-python", "no-ctracer", "no-data-collected", "no-sysmon", "trace-changed"),
]
_OWN = "none: before Python 3.12 a program with a trace function of its own can't be traced"
_WITH_MONITORING = sys.version_info >= (3, 12)


class _Notes:
    """The lines that ran in one process, and by what means that is known."""

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        self._folder = folder
        self._numbers = {os.path.realpath(path): number for number, path in enumerate(files)}
        self._file: tuple[int, int] | None = None

    def number(self, path: str) -> int | None:
        """Return the number of the file that a path names."""
        return self._numbers.get(os.path.realpath(path))

    def write(self, text: str) -> None:
        """Add a line to what is known of this process."""
        pid = os.getpid()
        if self._file is None or self._file[0] != pid:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Processes of two machines may have one number.
            path = self._folder / f"process-{platform.node()}-{pid}.txt"
            self._file = pid, os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.write(self._file[1], f"{text}\n".encode())


def start(spec: dict[str, Any]) -> None:
    """Begin. ``spec`` has the files' absolute paths and the folder for what is noted."""
    notes = _Notes(Path(spec["folder"]), spec["files"])
    try:
        import coverage
    except ImportError:
        notes.write("core none: it needs the package coverage")
        return
    measured = coverage.Coverage(
        data_file=None, include=spec["files"], config_file=False, check_preimported=False, messages=False
    )
    # What it warns of would stand in the program's own output, which is compared.
    measured.set_option("run:disable_warnings", _WARNINGS)
    if _WITH_MONITORING:
        # The option came with coverage 7.9; before, only an environment variable chooses.
        with contextlib.suppress(coverage.CoverageException):
            measured.set_option("run:core", "sysmon")
    measured.start()
    notes.write("core coverage")
    notes.write("traced")

    def hears(event: str, _: tuple[Any, ...]) -> None:
        if event == "sys.settrace":
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.partition(".")[0] not in ("coverage", "threading"):
                notes.write(f"core {_OWN}")

    def save() -> None:
        data = measured.get_data()
        for path in data.measured_files():
            number = notes.number(path)
            if number is not None:
                notes.write("\n".join([f"{number}:{line}" for line in data.lines(path) or ()]))
        notes.write("saved")

    end = os._exit

    def ending(status: int) -> None:
        save()
        end(status)

    if not _WITH_MONITORING:
        sys.addaudithook(hears)
    atexit.register(save)
    os.register_at_fork(after_in_child=lambda: notes.write("traced"))
    # So ends a process that multiprocessing forks.
    os._exit = ending  # type: ignore[assignment]
