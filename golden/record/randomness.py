"""The state of every global random number generator, as digests."""

from __future__ import annotations

import array
import ctypes
import random
import sys
from typing import Any

import torch
import xxhash

# 624 words and the position.
_MT19937_BYTES = 2500


def rng_digests(*, complete: bool = False) -> dict[str, str]:
    """One digest per generator: python, numpy if loaded, torch CPU, each CUDA device in use.

    Unless ``complete``, numpy's cached second half of a pair of normal numbers is left out: asking for it
    costs a hundred times more than reading the generator's memory, and its use shows at the next draw.
    """
    version, internal, gauss = random.getstate()
    rest = repr((version, gauss)).encode()
    found = {"python": xxhash.xxh3_128_hexdigest(array.array("Q", internal).tobytes() + rest)}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        generator = numpy.random.mtrand._rand._bit_generator
        if complete or type(generator).__name__ != "MT19937":
            found["numpy"] = xxhash.xxh3_128_hexdigest(
                repr(_plain(numpy.random.get_state(legacy=False))).encode()
            )
        else:
            memory = ctypes.string_at(generator.ctypes.state_address, _MT19937_BYTES)
            found["numpy"] = xxhash.xxh3_128_hexdigest(memory)
    found["torch"] = xxhash.xxh3_128_hexdigest(torch.get_rng_state().numpy().data)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        for index in range(torch.cuda.device_count()):
            found[f"cuda:{index}"] = xxhash.xxh3_128_hexdigest(torch.cuda.get_rng_state(index).numpy().data)
    return found


def _plain(state: Any) -> Any:
    """A generator's state with its arrays as bytes."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state


def seed_generators(seed: int) -> None:
    """Seed the global generators of python, numpy and torch."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
