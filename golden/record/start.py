"""Start of the observer in the program's process, as soon as torch has been imported."""

from __future__ import annotations

import atexit
import random
import sys
from typing import Any

import torch


def start(spec: dict[str, Any]) -> None:
    """Fix what makes a run differ from itself, then observe it, if it is to be."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    if spec["deterministic"] != "off":
        # torch.use_deterministic_algorithms would load the compiler to tell it so, which takes as long as
        # torch itself; a variable of the process tells it if it is ever loaded.
        torch.set_deterministic_debug_mode("warn" if spec["deterministic"] == "warn" else "error")
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    _seed(spec["seed"])
    if spec["observe"]:
        # A run that isn't observed doesn't pay for loading it.
        from .observer import Observer

        Observer(spec).install()
    if spec["max_steps"] is not None:
        _end_after(spec["max_steps"])


def _end_after(steps: int) -> None:
    """End the process at an optimizer step, after the observer's hook has seen it."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    left = [steps]

    def count(*_: Any) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise SystemExit(0)

    count._torchdynamo_disable = True  # type: ignore[attr-defined]
    # The observer takes steps of its own when the process ends.
    atexit.register(register_optimizer_step_post_hook(count).remove)


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
