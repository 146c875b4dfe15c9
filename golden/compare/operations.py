"""Two logs of operations: the first one that gets equal inputs and gives another output."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class Located:
    """The operation at which two runs part.

    ``output``: equal inputs, another output. ``arguments``: equal tensors, other numbers beside them.
    ``input``: the first operation that reads something different, which no operation before it made so.
    ``missing`` and ``extra``: an operation that only one side has. ``nothing``: all operations agree.
    """

    change: Literal["output", "arguments", "input", "missing", "extra", "nothing"]
    left: Operation | None
    right: Operation | None
    compared: int


def read_operations(path: Path) -> list[Operation]:
    """Return a log of operations in order."""
    return [Operation(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def locate(left: Sequence[Operation], right: Sequence[Operation]) -> Located:
    """Find the first operation at which two runs part. One added or removed does not derail what follows."""
    # What differs already, as operations before made it.
    known: set[tuple[str, str]] = set()
    odd: Located | None = None
    compared = 0
    a_forms, b_forms = list(map(_form, left)), list(map(_form, right))
    for i, j in pairs(a_forms, b_forms, _ALIGN_AT_MOST):
        a, b = left[i] if i is not None else None, right[j] if j is not None else None
        compared += 1
        if a is None or b is None:
            if odd is None:
                odd = Located("missing" if b is None else "extra", a, b, compared)
        elif a.inputs == b.inputs and a.outputs != b.outputs and (a.inputs or not _RANDOM.search(a.name)):
            return odd or Located("arguments" if a.arguments != b.arguments else "output", a, b, compared)
        elif odd is None and any(
            x != y and (x, y) not in known for x, y in zip(a.inputs, b.inputs, strict=False)
        ):
            return Located("input", a, b, compared)
        known.update(zip(a.outputs, b.outputs, strict=False) if a and b else ())
    return odd or Located("nothing", None, None, compared)


def _form(operation: Operation) -> str:
    return f"{operation.name}\0{operation.where}\0{len(operation.inputs)}"
