"""Random generators that follow from the run's seed, the round, the env and what they are for, and
nothing else.
"""

import hashlib

import torch

_MASK = 2**63 - 1


def derive_seed(seed: int, *place: int | str) -> int:
    """A seed in [0, 2**63) for a place in a run; different places get unrelated ones."""
    text = "/".join(str(part) for part in (seed, *place))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") & _MASK


def derive_generator(seed: int, *place: int | str) -> torch.Generator:
    """A CPU generator for a place in a run."""
    return torch.Generator().manual_seed(derive_seed(seed, *place))
