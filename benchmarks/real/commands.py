"""The public commands of the static half, run in this process."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a command: its exit status, its JSON or why there is none, and the crash if there was one."""

    status: int
    document: dict[str, Any] | None
    error: str
    crash: str = ""

    @property
    def failed(self) -> str:
        """Why there is no JSON, without paths; empty if there is one."""
        if self.crash:
            return f"crash {self.crash}"
        return "" if self.document is not None else f"error: {self.error.rpartition(': ')[2].strip()[:80]}"


def run(command: str, arguments: Sequence[object]) -> Answer:
    """Run ``python -m codemods.COMMAND`` with JSON as output."""
    out, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = _main(command)([*map(str, arguments), "--output-format", "json"])
    # A crash is a verdict too, and the worst one.
    except Exception as crash:
        return Answer(-1, None, errors.getvalue(), type(crash).__name__)
    try:
        document = json.loads(out.getvalue())
    except ValueError:
        document = None
    return Answer(status, document, errors.getvalue().strip().replace("\n", " "))


def _main(command: str) -> Callable[[list[str]], int]:
    """The function behind ``python -m codemods.COMMAND``."""
    name = f"codemods.{command}"
    if importlib.util.find_spec(name) and hasattr(importlib.import_module(name), "main"):
        return importlib.import_module(name).main
    return importlib.import_module(f"{name}.cli").main
