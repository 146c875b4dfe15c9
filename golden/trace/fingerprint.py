"""The fingerprint: all that a digest depends on besides the code.

The canary is a part of it: a small fixed workload whose digest tells whether two machines compute the same
bits. Loaded by the program under test under a private name, so it imports only torch and xxhash.
"""

from __future__ import annotations

import contextlib
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import xxhash
from torch import nn
from torch.nn import functional as F

from .digest import digests

_VERSION = re.compile(r"(?<![\w.])\d{3,}\.\d+(\.\d+)?(?![\w.])")


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


def driver(said: Path = Path("/proc/driver/nvidia/version")) -> str:
    """Return the version of NVIDIA's driver, as its module says; "unknown" where it does not."""
    with contextlib.suppress(OSError):
        match = _VERSION.search(said.read_text(encoding="utf-8", errors="replace"))
        if match:
            return match[0]
    return "unknown"


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.lstm = nn.LSTM(16, 24, batch_first=True)
        self.head = nn.Linear(24, 11)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.norm(self.conv(x)))
        x, _ = self.lstm(x.mean(3).transpose(1, 2))
        logits: torch.Tensor = self.head(F.layer_norm(x, (24,))[:, -1])
        return logits


def canary(device: str) -> str:
    """Return the digest of three training steps of a model of many kernels (32 hex digits).

    Reseeds the global generators: call it when nothing random follows.
    """
    torch.manual_seed(1234)
    seen: list[torch.Tensor] = []
    for fused in (False, True):
        model = _Model().to(device)
        x = torch.randn(5, 3, 13, 13).to(device)
        y = torch.randint(11, (5,)).to(device)
        for optimizer in (
            torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, fused=fused),
            torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused),
        ):
            for _ in range(2):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        square = torch.rand(37, 37).to(device)
        seen += [*model.parameters(), *model.buffers(), square @ square.T, torch.softmax(square * 9, 0)]
        seen += [torch.randperm(50), torch.exp(square), torch.tanh(square).sum(), square.std(0)]
    with torch.no_grad():
        found = digests(seen)
    return xxhash.xxh3_128_hexdigest(found)


def canary_of(spec: Mapping[str, Any]) -> str:
    """Return the canary under the settings that every program of a run begins with."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_num_threads(1)
    torch.set_grad_enabled(True)
    # A simulated GPU computes with the kernels of the CPU.
    return canary("cpu" if spec["device"].startswith("simulated") else spec["device"])
