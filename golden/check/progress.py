"""Progress of programs under test: a line drawn over on a terminal, else one every ten seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

import click

from esper_harness.report.plain import many
from golden.record.live import Program, count_steps, programs

_ON_TERMINAL_S, _ELSEWHERE_S = 1.0, 10.0
_CLEAR = "\r\x1b[K"


class Progress:
    """Says on stderr what is done now, while a command shows it."""

    def __init__(self) -> None:
        self._quiet = True
        self._drawn = False
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def shown(self, *, quiet: bool, every: float | None = None) -> Iterator[None]:
        """Within it a thread tells how far the programs are, every ``every`` seconds."""
        before, self._quiet = self._quiet, quiet
        ended = threading.Event()
        terminal = sys.stderr.isatty()
        seconds = every or (_ON_TERMINAL_S if terminal else _ELSEWHERE_S)
        thread = threading.Thread(target=self._tell, args=(ended, seconds, terminal), daemon=True)
        if not quiet:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if not quiet:
                thread.join()
            self._clear()
            self._quiet = before

    def say(self, message: str) -> None:
        """One line."""
        if not self._quiet:
            self._clear()
            click.echo(message, err=True)

    def _tell(self, ended: threading.Event, seconds: float, terminal: bool) -> None:
        while not ended.wait(seconds):
            told = [_told(program) for program in programs()]
            if not told:
                continue
            if terminal:
                with self._lock:
                    self._drawn = True
                    click.echo(f"{_CLEAR}{'; '.join(told)}", err=True, nl=False)
            else:
                for line in told:
                    click.echo(line, err=True)

    def _clear(self) -> None:
        with self._lock:
            if self._drawn:
                click.echo(_CLEAR, err=True, nl=False)
                self._drawn = False


def _told(program: Program) -> str:
    done = ""
    # The record may be gone by now.
    with contextlib.suppress(OSError):
        if steps := count_steps(program.folder):
            done = f", {many(steps, 'optimizer step')}"
    return f"{program.name}: {time.monotonic() - program.begun:.0f} s of about {program.budget:g} s{done}"


progress = Progress()
