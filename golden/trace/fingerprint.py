"""What a digest depends on besides the code."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping

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


# The canary says more than the name of a CPU: equal canaries mean equal kernels.
_SAID_BY_CANARY = ("cpu", "system", "python")


def deciding(found: Mapping[str, str]) -> dict[str, str]:
    """The parts of a fingerprint that decide whether bits are comparable."""
    if "canary" not in found:
        return dict(found)
    return {name: value for name, value in found.items() if name not in _SAID_BY_CANARY}
