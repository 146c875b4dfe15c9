"""A program in a process of its own, on simulated devices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from golden.trace.errors import UnusableInput

_INJECT = Path(__file__).resolve().parents[1] / "inject"


def simulated(device: str) -> int:
    """Return the number of devices of ``simulated`` or ``simulated:N``; 0 for another device."""
    kind, _, count = device.partition(":")
    return int(count or 1) if kind == "simulated" else 0


def variables(out: Path, devices: int) -> dict[str, str]:
    """The environment variables that put the devices in place, with `_INJECT` on PYTHONPATH."""
    return {
        "GOLDEN_SIMULATED": json.dumps({"out": str(out), "devices": devices}),
        # What is compiled runs eagerly, by torch's own switches; no real GPU is in the way.
        "TORCHDYNAMO_DISABLE": "1",
        "PYTORCH_JIT": "0",
        "CUDA_VISIBLE_DEVICES": "",
    }


def run(command: Sequence[str], *, root: Path, out: Path, devices: int, quiet: bool = False) -> int:
    """Run a command to its end; its exit status. `UnusableInput` if it can't be started."""
    argv = [sys.executable if command[0] in ("python", "python3") else command[0], *command[1:]]
    path = os.pathsep.join(filter(None, (str(_INJECT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **variables(out, devices), "PYTHONPATH": path}
    output = subprocess.DEVNULL if quiet else None
    try:
        process = subprocess.Popen(argv, cwd=root, env=environment, stdout=output, stderr=output)
    except OSError as error:
        raise UnusableInput(f"can't start {argv[0]}: {error.strerror}; check its name, and PATH") from None
    # An interrupt ends the program, which then writes what it has seen.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
