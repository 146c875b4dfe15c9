"""Device-to-host reads, counted by the place in the program that asks for them."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any

import torch

# Each of them makes the host wait for a device. Wrapping them sees what a dispatch mode does not: reads of
# CPU tensors, which become waits when the same program runs on a GPU.
_READS = ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "__index__")
_OWN = str(Path(__file__).resolve().parent.parent)
_TORCH = str(Path(torch.__file__).parent)


class SyncCounter:
    """Counts reads until the process ends."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[CodeType, int, str]] = Counter()

    def install(self) -> None:
        """Wrap the reading methods of tensors."""
        for name in _READS:
            setattr(torch.Tensor, name, self._wrapped(name, getattr(torch.Tensor, name)))

    def _wrapped(self, name: str, original: Any) -> Any:
        counts = self._counts

        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            counts[frame.f_code, frame.f_lineno, name] += 1
            return original(*args, **kwargs)

        return read

    def by_place(self) -> dict[str, int]:
        """How many reads each place of the program asked for: ``file:line function method``."""
        found: Counter[str] = Counter()
        here = Path.cwd()
        for (code, line, name), count in self._counts.items():
            path = Path(code.co_filename)
            if str(path).startswith(_OWN):
                continue
            if str(path).startswith(_TORCH):
                place = "torch"
            elif path.is_relative_to(here):
                place = f"{path.relative_to(here)}:{line} {code.co_name}"
            else:
                place = f"{path.name}:{line} {code.co_name}"
            found[f"{place} {name.strip('_')}"] += count
        return dict(sorted(found.items()))
