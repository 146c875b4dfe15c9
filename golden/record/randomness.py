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
    found = {"python": xxhash.xxh3_128_hexdigest(_python_state())}
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


def _python_state() -> bytes:
    """The state of python's generator: its memory, cached second half of a pair of normal numbers included."""
    generator = random._inst  # type: ignore[attr-defined]
    half = repr(generator.gauss_next).encode()
    if _FAST:
        return ctypes.string_at(id(generator) + _HEAD, _MT19937_BYTES) + half
    return _words(generator.getstate()[1]) + half


def _words(internal: tuple[int, ...]) -> bytes:
    """The 625 numbers of a state as they lie in memory: the position, then the words."""
    return array.array("I", [internal[-1], *internal[:-1]]).tobytes()


def _lies_in_memory() -> bool:
    """Whether a generator's memory holds its state as expected; asking for it costs ten times more."""
    probe = random.Random(7)
    probe.random()
    memory = ctypes.string_at(id(probe) + _HEAD, _MT19937_BYTES)
    return memory == _words(probe.getstate()[1])


_HEAD = object.__basicsize__
_FAST = _lies_in_memory()


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
