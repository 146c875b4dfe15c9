"""The state of every global random number generator, as digests."""

from __future__ import annotations

import array
import random
import sys

import torch
import xxhash


def rng_digests() -> dict[str, str]:
    """One digest per generator: python, numpy if loaded, torch CPU, each CUDA device in use."""
    version, internal, gauss = random.getstate()
    found = {
        "python": xxhash.xxh3_128_hexdigest(
            array.array("Q", internal).tobytes() + repr((version, gauss)).encode()
        )
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, position, has_gauss, cached = numpy.random.get_state()
        found["numpy"] = xxhash.xxh3_128_hexdigest(
            keys.tobytes() + repr((name, position, has_gauss, float(cached))).encode()
        )
    found["torch"] = xxhash.xxh3_128_hexdigest(torch.get_rng_state().numpy().data)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        for index in range(torch.cuda.device_count()):
            found[f"cuda:{index}"] = xxhash.xxh3_128_hexdigest(torch.cuda.get_rng_state(index).numpy().data)
    return found


def seed_generators(seed: int) -> None:
    """Seed the global generators of python, numpy and torch."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
