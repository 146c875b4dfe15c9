"""Notes each line of some files when it runs; loaded into every process of a run before anything else.

On Python 3.12 and later the interpreter's own monitoring tells a line once, and then no more; before that
coverage.py traces. Where neither is possible the record says so.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import types
from collections.abc import Sequence
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
_OWN = "none: before Python 3.12 a program with a trace function of its own can't be traced"


def start(spec: dict[str, Any]) -> None:
    """Begin. ``spec`` has the files' absolute paths and the folder for what is noted."""
    notes = _Notes(Path(spec["folder"]), spec["files"])
    if sys.version_info >= (3, 12):
        _monitor(notes)
    else:
        _trace(notes, spec["files"])


class _Notes:
    """The lines that ran in one process, and by what means that is known.

    Written at once, since a process may end by a signal.
    """

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        self._folder = folder
        self._numbers = {os.path.realpath(path): number for number, path in enumerate(files)}
        self._known: dict[str, int | None] = {}
        self._file: tuple[int, int] | None = None

    def number(self, path: str) -> int | None:
        """Which of the files a path of a code object names."""
        if path not in self._known:
            self._known[path] = self._numbers.get(os.path.realpath(path))
        return self._known[path]

    def write(self, text: str) -> None:
        """Add a line to what is known of this process."""
        pid = os.getpid()
        if self._file is None or self._file[0] != pid:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Processes of two machines may have one number.
            path = self._folder / f"process-{platform.node()}-{pid}.txt"
            self._file = pid, os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.write(self._file[1], f"{text}\n".encode())


def _trace(notes: _Notes, files: Sequence[str]) -> None:
    try:
        import coverage
    except ImportError:
        notes.write("core none: it needs the package coverage before Python 3.12")
        return
    measured = coverage.Coverage(
        data_file=None, include=list(files), config_file=False, check_preimported=False, messages=False
    )
    # What it warns of would stand in the program's own output, which is compared.
    measured.set_option("run:disable_warnings", _WARNINGS)
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

    sys.addaudithook(hears)
    atexit.register(save)
    os.register_at_fork(after_in_child=lambda: notes.write("traced"))
    # So ends a process that multiprocessing forks.
    os._exit = ending  # type: ignore[assignment]


def _monitor(notes: _Notes) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    free = [number for number in (3, 4, 1, 2, 0, 5) if monitoring.get_tool(number) is None]
    if not free:
        notes.write("core none: every tool number of sys.monitoring is taken")
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
            notes.write(f"{number}:{line}")
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
    notes.write("core sys.monitoring")
