"""What a model looked like when it was well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class ModelSnapshot:
    """Weights and buffers of the host, and of the live seeds by seed id."""

    host: Mapping[str, Tensor]
    seeds: Mapping[str, Mapping[str, Tensor]]
