"""Which global generators a program draws from and never seeds: only golden's seed makes those repeat."""

from __future__ import annotations

import functools
import random
import sys
from typing import Any

import torch

from .randomness import Generators
from .replace import put


class Seeds:
    """Notes every call that seeds or sets a global generator."""

    def __init__(self, generators: Generators) -> None:
        self._generators = generators
        self._given: set[str] = set()
        self._begun: dict[str, str] = {}

    def install(self) -> None:
        """Listen from now on."""
        self._listen("torch", torch, ("manual_seed", "set_rng_state"))
        self._listen("torch", torch.random, ("manual_seed", "set_rng_state"))
        self._listen("python", random, ("seed", "setstate"))
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            self._listen("numpy", numpy, ("seed", "set_state"))
        self._begun = self._generators.digests(complete=True)

    def _listen(self, kind: str, module: Any, names: tuple[str, ...]) -> None:
        for name in names:
            original = getattr(module, name)

            @functools.wraps(original)
            def listening(*args: Any, _original: Any = original, **kwargs: Any) -> Any:
                self._given.add(kind)
                return _original(*args, **kwargs)

            put(module, name, listening)

    def never_given(self) -> list[str]:
        """The generators that moved and that the program never seeded."""
        now = self._generators.digests(complete=True)
        moved = [kind for kind, digest in now.items() if digest != self._begun.get(kind)]
        return [kind for kind in moved if kind in self._begun and kind not in self._given]
