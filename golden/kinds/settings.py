"""Settings of the process: what it has set for itself in torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..trace.paths import Patterns
from . import Kind, Titled

# How each is asked for.
_SETTINGS: Mapping[str, Callable[[], Any]] = {
    "default dtype": torch.get_default_dtype,
    "default device": torch.get_default_device,
    "gradients are recorded": torch.is_grad_enabled,
    "precision of float32 products": torch.get_float32_matmul_precision,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "threads": torch.get_num_threads,
    "anomaly detection": torch.is_anomaly_enabled,
    "cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
}


class Observed(Kind):
    """All settings, as one thing."""

    def take(self, unstable: Patterns) -> Titled:
        """Return the settings as they are now."""
        yield "settings of the process", {name: _asked(ask) for name, ask in _SETTINGS.items()}


def _asked(ask: Callable[[], Any]) -> str:
    try:
        return str(ask())
    except RuntimeError as error:
        # Settings of two interfaces that contradict each other.
        return type(error).__name__
