"""What this process computes on its machine, under the settings that every program begins with."""

from __future__ import annotations

from typing import Any

import torch

from ..trace.canary import canary
from ..trace.kernels import families


def kernels(spec: dict[str, Any]) -> dict[str, Any]:
    """The digest of a small workload, and of each family of kernels."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_num_threads(spec["threads"])
    torch.set_grad_enabled(True)
    # A simulated GPU computes with the kernels of the CPU.
    device = "cpu" if spec["device"].startswith("simulated") else spec["device"]
    return {"canary": canary(device), "kernels": families(device)}
