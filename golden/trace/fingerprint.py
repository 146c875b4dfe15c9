"""The fingerprint: all that a digest depends on besides the code."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
import sys
from pathlib import Path

import torch

_VERSION = re.compile(r"(?<![\w.])\d{3,}\.\d+(\.\d+)?(?![\w.])")
_PATIENCE_S = 10.0


def fingerprint(device: str, profile: str) -> dict[str, str]:
    """Return the fingerprint of this process: torch build, device kind, CPU capability, threads, profile."""
    found = {
        "torch": torch.__version__,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "system": f"{sys.platform}-{platform.machine()}",
        "device": device.split(":")[0],
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
        "profile": profile,
    }
    if found["device"] == "cuda" and torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
        found["cuda"] = str(torch.version.cuda)
        found["driver"] = driver()
    return found


def driver(said: Path = Path("/proc/driver/nvidia/version"), tool: str = "nvidia-smi") -> str:
    """Return the version of NVIDIA's driver, as its module says or its tool; "unknown" where neither does."""
    with contextlib.suppress(OSError):
        match = _VERSION.search(said.read_text(encoding="utf-8", errors="replace"))
        if match:
            return match[0]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(
            [tool, "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=True,
        )
        match = _VERSION.search(asked.stdout)
        if match:
            return match[0]
    return "unknown"
