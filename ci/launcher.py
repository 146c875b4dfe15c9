"""Start a tool of the gate's environment before the repository's folders come on the module path.

Run by its path with ``python -P``, it needs nothing of this package. So a module of the repository that is
called as the tool, or as something that the tool needs, is never loaded in its place. ``GATE_PYTHONPATH``
names the folders; what the tool starts finds them in ``PYTHONPATH``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any


def extend() -> None:
    """Put the repository's folders first on the path, here and for child processes."""
    folders = os.environ.pop("GATE_PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = filter(None, folders)
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *([inherited] if inherited else [])])


def import_linter(arguments: Sequence[str]) -> int:
    """Check contracts; the exit status."""
    told, *words = arguments
    cli = importlib.import_module("importlinter.cli")
    extend()
    _tell(told, {})
    cli.lint_imports_command(args=words, prog_name="lint-imports")
    return 0


class Session:
    """A plugin of pytest that counts what came of the tests, and tells whether all of them had their turn."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
        self.stopped = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test once: its call, or what kept it from being called."""
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Keep why the session ended before its end."""
        self.stopped = str(excinfo.value) or excinfo.typename


def pytest(arguments: Sequence[str]) -> int:
    """Run tests, and write what came of them to the file that comes first; the exit status."""
    told, *words = arguments
    pytest = importlib.import_module("pytest")
    importlib.import_module("_pytest.config")
    extend()
    # As `python -m pytest` has it.
    sys.path.insert(0, str(Path.cwd()))
    session = Session()
    status = int(pytest.main(words, plugins=[session]))
    _tell(told, {**session.counts, "stopped": session.stopped})
    return status


class Watch:
    """Notes who asks first for a forbidden module.

    The modules that are being imported at that moment are on the stack: they are the chain that leads to it.
    """

    def __init__(self, forbidden: Sequence[str]) -> None:
        self.chains: dict[str, list[str]] = {}
        self._forbidden = forbidden

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Find nothing."""
        del path, target
        for top in self._forbidden:
            if (name == top or name.startswith(f"{top}.")) and top not in self.chains:
                chain = [name]
                frame: FrameType | None = sys._getframe(1)
                while frame is not None:
                    if frame.f_code.co_name == "<module>":
                        chain.append(frame.f_globals.get("__name__", "?"))
                    frame = frame.f_back
                # The last one is this script.
                self.chains[top] = chain[-2::-1]


def imports(arguments: Sequence[str]) -> int:
    """Import a module, and write what came with it to the file that comes first."""
    told, module, *forbidden = arguments
    extend()
    watch = Watch(forbidden)
    sys.meta_path.insert(0, watch)
    importlib.import_module(module)
    _tell(told, {"chains": watch.chains, "loaded": len(sys.modules)})
    return 0


def _tell(path: str, found: dict[str, Any]) -> None:
    Path(path).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    _, tool, *rest = sys.argv
    sys.exit({"import-linter": import_linter, "pytest": pytest, "imports": imports}[tool](rest))
