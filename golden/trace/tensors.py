"""Tensors as a record has them: of an optimizer, or of a module that no other one holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from golden.trace.kinds import HOST, SUMS

_HEX = 32


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Name, dtype and shape of one tensor; how its digest was made is no part of what it is."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str = field(default=HOST, compare=False)

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


# By kind, in the order of their digests.
Tensors = Mapping[str, tuple[TensorInfo, ...]]


def read_tensors(record: Mapping[str, Any]) -> Tensors:
    """Return the tensors of a record. Raises `ValueError` for digests that this version doesn't know."""
    found = {
        kind: tuple(TensorInfo(name, dtype, tuple(shape), *digest) for name, dtype, shape, *digest in rows)
        for kind, rows in record["tensors"].items()
    }
    for how in {info.digest for infos in found.values() for info in infos}:
        if not {HOST, SUMS}.issuperset(how.partition(":")[0].split("+")):
            raise ValueError(f"it has digests made by {how!r}, which this version does not know")
    return found


def by_name(tensors: Tensors, digests: Mapping[str, str], kind: str) -> dict[str, tuple[TensorInfo, str]]:
    """Return each tensor of a kind with its digest, of which ``digests`` has 32 hex digits for each."""
    text = digests[kind]
    return {
        info.name: (info, text[index * _HEX : (index + 1) * _HEX]) for index, info in enumerate(tensors[kind])
    }
