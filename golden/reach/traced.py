"""Python 3.11: coverage.py's tracer, for code of the files that a program compiles by its own means.

Nothing is traced unseen: where the program has a trace function of its own, or a process that was traced ends
without an end, the record says that what ran is not known.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

from .notes import Notes

# Of coverage.py; it knows no name for all.
_WARNINGS = [
    *("already-imported", "couldnt-parse", "dynamic-conflict", "module-not-imported", "module-not-measured"),
    *("module-not-python", "no-ctracer", "no-data-collected", "no-sysmon", "trace-changed"),
]
_OWN = "none: what the program compiles itself can't be traced: it has a trace function of its own"
_begun = False


def follow(notes: Notes, files: Sequence[str]) -> None:
    """Trace the whole process from now on, once."""
    global _begun
    if _begun:
        return
    _begun = True
    if sys.gettrace() is not None or threading.gettrace() is not None:
        notes.core(_OWN)
        return
    try:
        import coverage
    except ImportError:
        notes.core("none: what the program compiles itself needs the package coverage before Python 3.12")
        return
    measured = coverage.Coverage(
        data_file=None,
        include=list(files),
        config_file=False,
        check_preimported=False,
        messages=False,
    )
    # What it warns of would stand in the program's own output, which is compared.
    measured.set_option("run:disable_warnings", _WARNINGS)
    measured.start()
    notes.core("coverage")
    notes.traced()
    in_threads = threading.gettrace()

    def displaced() -> bool:
        return threading.gettrace() is not in_threads

    def hears(event: str, _: tuple[Any, ...]) -> None:
        if event != "sys.settrace":
            return
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.partition(".")[0] != "coverage" and (caller != "threading" or displaced()):
            notes.core(_OWN)

    def save() -> None:
        data = measured.get_data()
        for path in data.measured_files():
            number = notes.number(path)
            if number is not None:
                for line in data.lines(path) or ():
                    notes.say(number, line)
        if displaced():
            notes.core(_OWN)
        notes.saved()

    sys.addaudithook(hears)
    atexit.register(save)
    os.register_at_fork(after_in_child=notes.traced)
    # A process that multiprocessing started by a fork ends without the interpreter's own end.
    from multiprocessing import util

    util.register_after_fork(notes, lambda _: util.Finalize(None, save, exitpriority=100))
