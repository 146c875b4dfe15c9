"""What a digest depends on besides the code."""

from __future__ import annotations

import platform
import sys

import torch


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
    return found
