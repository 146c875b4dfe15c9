"""States of the global random generators."""

from __future__ import annotations

import array
import ctypes
import random
import sys
from typing import Any

import torch
import xxhash

from ..trace.digest import hex_digest
from ..trace.kinds import RANDOM_STATE
from ..trace.paths import Patterns
from . import Kind, Titled

# 624 words and the position.
_MT19937_BYTES = 2500


class Observed(Kind):
    """The generators of python, numpy if loaded, torch on the CPU, and of each CUDA device in use."""

    def __init__(self) -> None:
        self._python = _python_memory()
        # What python's generator was when it was digested last.
        self._python_state: tuple[bytes | None, str] | None = None
        self._python_digest = ""
        self._numpy: Any = None
        self._numpy_memory: Any = None

    def step(self, unstable: Patterns, *, last: bool) -> Titled:
        """Return one digest per generator.

        Before the ``last`` one, numpy's cached second half of a pair of normal numbers is left out: asking
        for it costs a hundred times more than reading the generator's memory, and its use shows at the next
        draw.
        """
        found = {"python": self._of_python()}
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            found["numpy"] = self._of_numpy(numpy, last)
        found["torch"] = hex_digest(torch.default_generator.get_state())
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            for index in range(torch.cuda.device_count()):
                found[f"cuda:{index}"] = hex_digest(torch.cuda.get_rng_state(index))
        return ((RANDOM_STATE, found),)

    def _of_python(self) -> str:
        # Taking the state makes 625 objects; reading it tells whether it moved.
        memory = None if self._python is None else xxhash.xxh3_128_digest(self._python)
        state = memory, repr(_instance().gauss_next)
        if memory is None or state != self._python_state:
            version, internal, gauss = random.getstate()
            words = array.array("Q", internal).tobytes()
            self._python_digest = xxhash.xxh3_128_hexdigest(words + repr((version, gauss)).encode())
            self._python_state = state
        return self._python_digest

    def _of_numpy(self, numpy: Any, complete: bool) -> str:
        generator = numpy.random.mtrand._rand._bit_generator
        if complete or type(generator).__name__ != "MT19937":
            state = plain(numpy.random.get_state(legacy=False))
            return xxhash.xxh3_128_hexdigest(repr(state).encode())
        if generator is not self._numpy:
            self._numpy = generator
            self._numpy_memory = _memory(generator.ctypes.state_address)
        return xxhash.xxh3_128_hexdigest(self._numpy_memory)


def _instance() -> Any:
    instance: Any = random.getstate
    return instance.__self__


def _memory(address: int) -> Any:
    return (ctypes.c_char * _MT19937_BYTES).from_address(address)


def _python_memory() -> Any:
    """Return the memory of python's generator; None where it isn't laid out as in CPython."""
    header = object.__basicsize__
    if sys.implementation.name != "cpython" or _instance().__class__.__basicsize__ < header + _MT19937_BYTES:
        return None
    memory = _memory(id(_instance()) + header)
    *words, position = random.getstate()[1]
    return memory if bytes(memory) == array.array("I", [position, *words]).tobytes() else None


def plain(state: Any) -> Any:
    """Return a generator's state with its arrays as bytes."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    return state.tobytes() if hasattr(state, "tobytes") else state
