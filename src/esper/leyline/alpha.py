"""How a seed's share of the output, alpha, is applied and how it moves."""

from __future__ import annotations

from enum import IntEnum


class AlphaMode(IntEnum):
    """Which way a slot's alpha is moving."""

    HOLD = 0
    UP = 1
    DOWN = 2


class AlphaCurve(IntEnum):
    """The shape of an alpha schedule over its steps."""

    LINEAR = 0
    COSINE = 1
    SIGMOID = 2


class BlendMode(IntEnum):
    """How a seed's output joins the host's features."""

    ADD = 0
    MULTIPLY = 1
    GATE = 2
