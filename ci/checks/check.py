"""A check, and what all checks are given."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, cast

from ci.base import Base
from ci.changes import accepts
from ci.config import GateConfig
from ci.verdicts import Verdict
from golden.check.fixtures import write_whole
from golden.check.properties import Recordings
from golden.record import Run
from golden.trace.errors import GoldenError

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Context:
    """One run of the gate.

    Attributes:
        config: what is checked.
        root: the repository.
        base: the ref to compare with, and its tree; None without one.
        scratch: a folder for traces.
        kept: whether that folder stays after the run.
        accepted: names of loosened settings that are wanted.
    """

    config: GateConfig
    root: Path
    scratch: Path
    base: Base | None = None
    kept: bool = False
    accepted: tuple[str, ...] = ()
    _recordings: dict[str, Recordings] = field(default_factory=dict, init=False)
    _made: dict[str, object] = field(default_factory=dict, init=False)
    _locks: dict[str, threading.Lock] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def recordings(self, run: Run) -> Recordings:
        """Return the recordings of a run: made once for all checks."""
        with self._lock:
            if run.name not in self._recordings:
                self._recordings[run.name] = Recordings(run, root=self.root, out=self.scratch / "runs")
            return self._recordings[run.name]

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """Return the result of ``make``, or raise its `GoldenError`; it is called once for all checks."""
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                try:
                    self._made[name] = make()
                except GoldenError as error:
                    self._made[name] = error
        found = self._made[name]
        if isinstance(found, GoldenError):
            raise found
        return cast(Made, found)

    def wanted(self, name: str) -> bool:
        """Return whether a loosened setting was accepted by its name."""
        return accepts(self.accepted, name)

    def wanted_any(self, name: str) -> bool:
        """Return whether ``name`` or anything below it was accepted."""
        return self.wanted(name) or any(known.startswith(f"{name}.") for known in self.accepted)

    def environment(self) -> dict[str, str]:
        """The environment variables for a subprocess that imports the repository's modules."""
        return self.config.environment(self.root)

    def keep(self, name: str, text: str) -> tuple[Path, ...]:
        """Write what shows a failure to a file, if such files are kept."""
        if not self.kept:
            return ()
        path = self.scratch / name
        write_whole(path, text)
        return (path,)

    def shown(self, path: Path) -> str:
        """A path as the table prints it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)


@dataclass(frozen=True, slots=True)
class Check:
    """A named check, ready to run, and beside which others it may.

    ``beside`` says that it waits for other processes; ``in turn`` that it computes in this one, where two at
    a time would take as long, and where CPython's parser counts its depth for all threads together;
    ``alone`` that it is timed.
    """

    name: str
    run: Callable[[], Verdict]
    runs: Literal["beside", "in turn", "alone"] = "beside"
