"""Start of the simulation, in the program's process, as soon as torch has been imported."""

from __future__ import annotations

import atexit
import json
import os
from pathlib import Path
from typing import Any

from . import api
from .memory import MEMORY
from .streams import RACES
from .syncs import SYNCS, ran


def start(spec: dict[str, Any]) -> None:
    """Put the devices in place, and write what was seen when the process ends."""
    api.install(spec["devices"])
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(SYNCS.stepped)
    pid, out = os.getpid(), Path(spec["out"])

    def write() -> None:
        if os.getpid() == pid:
            SYNCS.muted += 1
            out.mkdir(parents=True, exist_ok=True)
            found = {
                "steps": SYNCS.steps,
                "ran": ran(),
                "syncs": list(SYNCS.rows()),
                "races": RACES.rows(),
                "peaks": [memory.row(f"cuda:{index}") for index, memory in sorted(MEMORY.items())],
            }
            (out / f"simulated-{pid}.json").write_text(json.dumps(found))

    atexit.register(write)
