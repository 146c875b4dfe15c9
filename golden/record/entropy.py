"""The entropy from which numpy seeds generators without a seed, such as those of gymnasium's environments."""

from __future__ import annotations

import multiprocessing
import os
import random
import secrets


def start(seed: int) -> None:
    """Give it from the run's seed, another one to each rank and child process.

    It is called before numpy is imported, which keeps a reference to ``secrets.randbits``.
    """
    known: dict[str, random.Random] = {}

    def randbits(k: int) -> int:
        """Return ``k`` bits that depend on the run's seed."""
        name = f"{seed} {os.environ.get('RANK', '')} {multiprocessing.current_process().name}"
        return known.setdefault(name, random.Random(name)).getrandbits(k)

    secrets.randbits = randbits
