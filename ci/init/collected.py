"""Whether the repository's tests can be run here at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ci.config import GateConfig


def uncollected(root: Path, folder: str, *, seconds: float) -> str | None:
    """Why pytest collects no tests from a folder, in a line; None where it does."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", folder]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=GateConfig().environment(root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {seconds:g} s"
    if done.returncode == 0:
        return None
    lines = [line.strip("= ") for line in done.stdout.splitlines() if line.strip("= ")]
    raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
    return (raised or lines or ["no output"])[-1]
