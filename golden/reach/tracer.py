"""Notes each line of some files when it first runs; loaded into every process of a run before anything else.

Nothing but the standard library is imported, and nothing else is traced. On Python 3.12 and later the
interpreter's own monitoring says a line once and then no more; before that the code of the files is made to
note its lines. Where such code is compiled by other means than Python's own, coverage.py's tracer is used
from then on; without it nothing is measured, and the record says so.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .notes import Notes

_TOOL = "golden"
# Events of the audit that come with code which is going to run.
_RUNS = frozenset(["exec", "function.__new__"])


def start(spec: dict[str, Any]) -> Callable[[Any], None]:
    """Begin. ``spec`` has the files' absolute paths, the room of each, and the folder for what is noted.

    What is returned is to be told when torch has been imported.
    """
    notes = Notes(Path(spec["folder"]), spec["files"], spec["rooms"])
    if sys.version_info >= (3, 12):
        _monitor(notes)
        return lambda torch: None
    from .code import Noting, before_compiling, install
    from .traced import follow

    def trace() -> None:
        follow(notes, spec["files"])

    noting = Noting(notes.lines, notes.number)
    # Code of the files that was not made to note its lines is traced, with all that the process runs.
    install(noting, trace)
    notes.core("code that notes its lines")
    return lambda torch: before_compiling(torch, noting, trace)


def _monitor(notes: Notes) -> None:
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
