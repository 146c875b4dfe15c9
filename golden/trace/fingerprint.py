"""What a digest depends on besides the code."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import torch

from .kernels import PREFIX, apart

_VERSION = re.compile(r"(?<![\w.])\d{3,}\.\d+(\.\d+)?(?![\w.])")
_PATIENCE_S = 10.0


def fingerprint(device: str, profile: str) -> dict[str, str]:
    """The fingerprint of this process: torch build, device kind, CPU capability, threads, profile."""
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
    """The version of NVIDIA's driver, as its module says or its tool; "unknown" where neither does."""
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


# The canary says more than the name of a CPU: equal canaries mean equal kernels.
_SAID_BY_CANARY = ("cpu", "system", "python")


def deciding(found: Mapping[str, str]) -> dict[str, str]:
    """The parts of a fingerprint that decide whether bits are comparable."""
    without = _SAID_BY_CANARY if "canary" in found else ()
    return {n: value for n, value in found.items() if n not in without and not n.startswith(PREFIX)}


def gap(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    """In which parts two fingerprints differ, in words; empty where bits differ only because of the code."""
    a, b = deciding(left), deciding(right)
    if "canary" in a and "canary" in b:
        # Builds of one version with equal canaries run the same kernels.
        a, b = ({**side, "torch": side.get("torch", "").partition("+")[0]} for side in (a, b))
    parts = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    return "; ".join(
        f"other kernels: {_kernels(left, right)}" if n == "canary" else f"{n}: {a.get(n)} and {b.get(n)}"
        for n in parts
    )


def _kernels(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    families = apart(left, right)
    if families is None:
        return "which is not known, since one side was recorded before they were told apart"
    return ", ".join(families) or "none of the families that are told apart"
