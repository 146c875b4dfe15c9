"""Start the tools that the gate runs, so that no module of the repository stands in for one of theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ci.config import GateConfig

_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True, slots=True)
class Launched:
    """How a tool ended, what it printed, and what the launcher told of it; None if it was ended before."""

    status: int
    output: str
    told: Any = None


def launch(
    tool: Literal["import-linter", "pytest", "imports"],
    arguments: Sequence[str],
    *,
    root: Path,
    config: GateConfig,
    timeout: float | None = None,
) -> Launched:
    """Run a tool in the repository. Raises `subprocess.TimeoutExpired`."""
    with tempfile.TemporaryDirectory(prefix="gate-") as scratch:
        told = Path(scratch) / "told.json"
        done = subprocess.run(
            [sys.executable, "-P", str(_LAUNCHER), tool, str(told), *arguments],
            cwd=root,
            env=_environment(config, root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
        )
        try:
            found = json.loads(told.read_bytes())
        except (OSError, ValueError):
            found = None
    return Launched(done.returncode, done.stdout, found)


def _environment(config: GateConfig, root: Path) -> dict[str, str]:
    """The environment variables of the launcher: nothing of the repository is on the path yet."""
    found = {**os.environ, "GATE_PYTHONPATH": os.pathsep.join(str(root / each) for each in config.pythonpath)}
    inherited = found.pop("PYTHONPATH", "").split(os.pathsep)
    if outside := [entry for entry in inherited if entry and not _inside(entry, root)]:
        found["PYTHONPATH"] = os.pathsep.join(outside)
    return found


def _inside(entry: str, root: Path) -> bool:
    return Path(entry).resolve().is_relative_to(root.resolve())
