"""Notes each line of some files when it first runs; loaded into every process of a run before anything else.

Nothing but the standard library is imported, and nothing else is traced. On Python 3.12 and later the
interpreter's own monitoring says a line once and then no more; before that the code of the files is made to
note its lines. Where such code is compiled by other means than Python's own, coverage.py's tracer is used
from then on; without it nothing is measured, and the record says so.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TOOL = "golden"
# Events of the audit that come with code which is going to run.
_RUNS = frozenset(["exec", "function.__new__"])
# Of coverage.py; it knows no name for all.
_WARNINGS = [
    *("already-imported", "couldnt-parse", "dynamic-conflict", "module-not-imported", "module-not-measured"),
    *("module-not-python", "no-ctracer", "no-data-collected", "no-sysmon", "trace-changed"),
]


def start(spec: dict[str, Any]) -> Callable[[Any], None]:
    """Begin. ``spec`` has the files' absolute paths, and the folder for what is noted.

    What is returned is to be told when torch has been imported.
    """
    notes = _Notes(Path(spec["folder"]), spec["files"])
    if sys.version_info >= (3, 12):
        _monitor(notes)
        return lambda torch: None
    from .code import Noting, before_compiling, install

    def trace() -> None:
        _trace(notes, spec["files"])

    noting = Noting(notes.folder, notes.number)
    # Code of the files that was not made to note its lines is traced, with all that the process runs.
    install(noting, trace)
    notes.core("code that notes its lines")
    return lambda torch: before_compiling(torch, noting, trace)


class _Notes:
    """What ran, in a file for each process; written at once, since a process may end by a signal."""

    def __init__(self, folder: Path, files: list[str]) -> None:
        self.folder = folder
        self.traced = False
        self._numbers = {os.path.realpath(path): number for number, path in enumerate(files)}
        self._here = Path.cwd()
        self._folders: dict[Path, Path] = {}
        self._known: dict[str, int | None] = {}
        self._said: set[tuple[int, int]] = set()
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None

    def number(self, path: str) -> int | None:
        """Which of the files a path of a code object names."""
        if path not in self._known:
            self._known[path] = self._numbers.get(self._real(self._here / path))
        return self._known[path]

    def _real(self, path: Path) -> str:
        """As `os.path.realpath` has it, which asks for every folder above: here each folder once."""
        if path.parent not in self._folders:
            self._folders[path.parent] = Path(os.path.realpath(path.parent))
        whole = self._folders[path.parent] / path.name
        return os.path.realpath(whole) if whole.is_symlink() else str(whole)

    def say(self, number: int, line: int) -> None:
        """Note that a line ran."""
        if (number, line) in self._said:
            return
        with self._lock:
            self._said.add((number, line))
            os.write(self._descriptor(), f"{number}:{line}\n".encode())

    def core(self, name: str) -> None:
        """Note by what means."""
        os.write(self._descriptor(), f"core {name}\n".encode())

    def _descriptor(self) -> int:
        pid = os.getpid()
        if self._file is None or self._file[0] != pid:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"process-{pid}.txt"
            self._file = pid, os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        return self._file[1]


def _monitor(notes: _Notes) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    free = [number for number in (3, 4, 1, 2, 0, 5) if monitoring.get_tool(number) is None]
    if not free:
        notes.core("none: every tool number of sys.monitoring is taken")
        return
    [tool, *_] = free
    monitoring.use_tool_id(tool, _TOOL)
    events = monitoring.events

    def watch(code: types.CodeType) -> None:
        if notes.number(code.co_filename) is None:
            return
        monitoring.set_local_events(tool, code, events.LINE)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                watch(constant)

    def entered(code: types.CodeType, _: int) -> object:
        watch(code)
        return monitoring.DISABLE

    def ran(code: types.CodeType, line: int) -> object:
        number = notes.number(code.co_filename)
        if number is not None:
            notes.say(number, line)
        return monitoring.DISABLE

    def hears(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _RUNS:
            if type(arguments[0]) is types.CodeType:
                watch(arguments[0])
        elif event == "object.__setattr__":
            if type(arguments[2]) is types.CodeType:
                watch(arguments[2])
        elif event == "code.__new__" and notes.number(arguments[1]) is not None:
            # What is made by hand may be run by means that nobody is told of: all that starts is looked at.
            monitoring.set_events(tool, events.PY_START)

    monitoring.register_callback(tool, events.PY_START, entered)
    monitoring.register_callback(tool, events.LINE, ran)
    # Looking at all that starts makes each function of the process slower the first time.
    sys.addaudithook(hears)
    notes.core("sys.monitoring")


def _trace(notes: _Notes, files: list[str]) -> None:
    if notes.traced:
        return
    notes.traced = True
    try:
        import coverage
    except ImportError:
        notes.core("none: what the program compiles itself needs the package coverage before Python 3.12")
        return
    measured = coverage.Coverage(
        data_file=None,
        include=files,
        config_file=False,
        check_preimported=False,
        messages=False,
    )
    # What it warns of would stand in the program's own output, which is compared.
    measured.set_option("run:disable_warnings", _WARNINGS)
    measured.start()
    notes.core("coverage")

    def save() -> None:
        data = measured.get_data()
        for path in data.measured_files():
            number = notes.number(path)
            if number is not None:
                for line in data.lines(path) or ():
                    notes.say(number, line)

    atexit.register(save)
    # A process that multiprocessing started by a fork ends without the interpreter's own end.
    from multiprocessing import util

    util.register_after_fork(notes, lambda _: util.Finalize(None, save, exitpriority=100))
