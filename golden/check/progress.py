"""Progress of programs under test: a line every ten seconds."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import click

from esper_harness.report.plain import many
from golden.record.live import Program, count_steps, programs

_EVERY_S = 10.0


class Progress:
    """Says on stderr what is done now, while a command shows it."""

    def __init__(self) -> None:
        self._quiet = True

    @contextlib.contextmanager
    def shown(self, *, quiet: bool, every: float = _EVERY_S) -> Iterator[None]:
        """Within it a thread tells how far the programs are, every ``every`` seconds."""
        before, self._quiet = self._quiet, quiet
        ended = threading.Event()
        thread = threading.Thread(target=self._tell, args=(ended, every), daemon=True)
        if not quiet:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if not quiet:
                thread.join()
            self._quiet = before

    def say(self, message: str) -> None:
        """One line."""
        if not self._quiet:
            click.echo(message, err=True)

    @staticmethod
    def _tell(ended: threading.Event, seconds: float) -> None:
        while not ended.wait(seconds):
            for program in programs():
                click.echo(_told(program), err=True)


def _told(program: Program) -> str:
    done = ""
    # The record may be gone by now.
    with contextlib.suppress(OSError):
        if steps := count_steps(program.folder):
            done = f", {many(steps, 'optimizer step')}"
    return f"{program.name}: {time.monotonic() - program.begun:.0f} s of about {program.budget:g} s{done}"


progress = Progress()
