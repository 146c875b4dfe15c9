"""What can grow in a slot, by kind of host and name, and how many numbers it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Generator, nn

from esper.kasmina.image_seeds import (
    AttentionSeed,
    BottleneckSeed,
    ConvHeavySeed,
    ConvLightSeed,
    ConvSmallSeed,
    DepthwiseSeed,
    NormSeed,
    Seed,
    quarter,
)
from esper.kasmina.initialise import materialise
from esper.kasmina.token_seeds import LoRASeed, MLPSeed, TokenAttentionSeed, TokenNormSeed, lora_rank
from esper.leyline import Topology


@dataclass(frozen=True, slots=True)
class Blueprint:
    """How to build a seed for so many channels, and the number of its parameters."""

    build: Callable[[int], Seed]
    parameters: Callable[[int], int]


BLUEPRINTS: Mapping[Topology, Mapping[str, Blueprint]] = {
    "cnn": {
        "norm": Blueprint(NormSeed, lambda c: 2 * c),
        "attention": Blueprint(AttentionSeed, lambda c: 2 * c * quarter(c) + quarter(c) + c),
        "depthwise": Blueprint(DepthwiseSeed, lambda c: c * c + 12 * c),
        "conv_light": Blueprint(ConvLightSeed, lambda c: 10 * c * c + 3 * c),
        "conv_small": Blueprint(ConvSmallSeed, lambda c: 2 * c * c + 3 * c),
        "conv_heavy": Blueprint(ConvHeavySeed, lambda c: 18 * c * c + 3 * c),
        "bottleneck": Blueprint(
            BottleneckSeed, lambda c: 9 * quarter(c) ** 2 + 2 * c * quarter(c) + 4 * quarter(c) + c
        ),
    },
    "transformer": {
        "norm": Blueprint(TokenNormSeed, lambda c: 2 * c),
        "attention": Blueprint(TokenAttentionSeed, lambda c: 4 * c * c + 6 * c),
        "lora": Blueprint(LoRASeed, lambda c: 2 * c * lora_rank(c)),
        "mlp": Blueprint(MLPSeed, lambda c: 4 * c * c + 5 * c),
    },
}
"""Every seed changes nothing at birth: its last layer starts at zero."""


def build_seed(name: str, channels: int, generator: Generator, topology: Topology = "cnn") -> Seed:
    """A fresh seed of the named blueprint; ValueError if this kind of host has none of that name."""
    blueprints = BLUEPRINTS[topology]
    if name not in blueprints:
        raise ValueError(f"no blueprint {name!r} for a {topology} host; there are {', '.join(blueprints)}")
    seed = materialise(lambda: blueprints[name].build(channels), generator)
    for parameter in seed.output.parameters():
        nn.init.zeros_(parameter)
    return seed
