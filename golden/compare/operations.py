"""Two logs of operations: the first one that gets equal inputs and gives another output."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from golden.compare.sequences import pairs

_ALIGN_AT_MOST = 20_000
# These read a hidden state, so equal inputs say nothing about their outputs.
_RANDOM = re.compile("rand|bernoulli|normal")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its name, the module and the line of the program that it belongs to, digests."""

    name: str
    where: str
    place: str
    arguments: Sequence[str]
    inputs: Sequence[str]
    outputs: Sequence[str]

    @property
    def title(self) -> str:
        """The name that people call it."""
        return f"{self.name} in {self.where}{f' at {self.place}' if self.place else ''}"


def read_operations(path: Path) -> list[Operation]:
    """Return a log of operations in order."""
    return [Operation(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def locate(left: Sequence[Operation], right: Sequence[Operation]) -> str:
    """Tell of the first operation at which two runs part; empty where all agree.

    One that is added or removed does not derail what follows.
    """
    # What differs already, as operations before made it.
    known: set[tuple[str, str]] = set()
    odd = ""
    a_forms, b_forms = list(map(_form, left)), list(map(_form, right))
    for i, j in pairs(a_forms, b_forms, _ALIGN_AT_MOST):
        a, b = left[i] if i is not None else None, right[j] if j is not None else None
        if a is None or b is None:
            one = a or b
            odd = odd or (f"{one.title} is {'missing' if b is None else 'extra'} in head" if one else "")
            continue
        at = f"{a.title} (head: {b.place})" if b.place != a.place else a.title
        if a.inputs == b.inputs and a.outputs != b.outputs and (a.inputs or not _RANDOM.search(a.name)):
            arguments = zip_longest(a.arguments, b.arguments, fillvalue="none")
            others = ", ".join(f"{x} -> {y}" for x, y in arguments if x != y)
            told = (
                f"equal tensors and other arguments: {others}"
                if others
                else "equal inputs and another output"
            )
            return odd or f"{at} has {told}"
        if not odd and any(x != y and (x, y) not in known for x, y in zip(a.inputs, b.inputs, strict=False)):
            return f"{at} reads a tensor that differs, and no operation before made it differ"
        known.update(zip(a.outputs, b.outputs, strict=False))
    return odd


def _form(operation: Operation) -> str:
    return f"{operation.name}\0{operation.where}\0{len(operation.inputs)}"
