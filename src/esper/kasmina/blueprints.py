"""Seeds by blueprint: modules that map features to a change of them, of the same shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from esper.kasmina.hosts import CausalAttention, materialise
from esper.leyline import Topology


class Seed(nn.Module):
    """A seed module. `output` is its last layer: zeroed at birth, so that a fresh seed changes nothing."""

    output: nn.Module


class NormSeed(Seed):
    """Group normalisation with learnt scale and shift."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.output = nn.GroupNorm(_groups(channels), channels)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        if torch.is_grad_enabled() and not x.requires_grad:
            # On a CPU, torch 2.13 dereferences null in this layer's backward pass where a channels-last input
            # needs no gradient, which is so while the seed trains on detached features.
            x = x.detach().requires_grad_()
        return self.output(x)


class AttentionSeed(Seed):
    """Squeeze-and-excitation (Hu et al., 2018, arXiv:1709.01507) as a change: channels scaled by up to ±1."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, quarter(channels))
        self.output = nn.Linear(quarter(channels), channels)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        weights = torch.tanh(self.output(F.relu(self.squeeze(x.mean(dim=(2, 3))))))
        return x * weights[:, :, None, None]


class DepthwiseSeed(Seed):
    """Depthwise 3x3 convolution, then a pointwise one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        return self.output(F.relu(self.norm(self.depthwise(x)), inplace=True))


class ConvSeed(Seed):
    """Two convolutions. Two of 3x3 are those of a residual block (He et al., 2016, arXiv:1512.03385)."""

    def __init__(self, channels: int, kernel: int, output_kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, output_kernel, padding=output_kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        return self.output(F.relu(self.norm(self.conv(x)), inplace=True))


class BottleneckSeed(Seed):
    """A 3x3 convolution between pointwise ones, on a quarter of the channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        narrow = quarter(channels)
        self.reduce = nn.Conv2d(channels, narrow, 1, bias=False)
        self.reduce_norm = nn.BatchNorm2d(narrow)
        self.conv = nn.Conv2d(narrow, narrow, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(narrow)
        self.output = nn.Conv2d(narrow, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        x = F.relu(self.reduce_norm(self.reduce(x)), inplace=True)
        return self.output(F.relu(self.norm(self.conv(x)), inplace=True))


def quarter(channels: int) -> int:
    """A quarter of the channels, but at least four."""
    return max(4, channels // 4)


def _groups(channels: int) -> int:
    return next(groups for groups in (4, 2, 1) if channels % groups == 0)


class TokenNormSeed(Seed):
    """Layer normalisation with learnt scale and shift."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.output = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the tokens, same shape as `x`."""
        return self.output(x)


class TokenAttentionSeed(Seed):
    """Causal self-attention of normalised tokens."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.attention = CausalAttention(channels)
        self.output = nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the tokens, same shape as `x`."""
        return self.output(self.attention(self.norm(x)))


class LoRASeed(Seed):
    """A linear map of low rank (Hu et al., 2021, arXiv:2106.09685)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Linear(channels, lora_rank(channels), bias=False)
        self.output = nn.Linear(lora_rank(channels), channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the tokens, same shape as `x`."""
        return self.output(self.down(x))


class MLPSeed(Seed):
    """Two linear layers, twice as wide in between, of normalised tokens."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.hidden = nn.Linear(channels, 2 * channels)
        self.output = nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the tokens, same shape as `x`."""
        return self.output(F.relu(self.hidden(self.norm(x)), inplace=True))


def lora_rank(channels: int) -> int:
    """Rank of a LoRA seed: an eighth of the channels, but at least two."""
    return max(2, channels // 8)


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
        "conv_light": Blueprint(lambda c: ConvSeed(c, 3, 1), lambda c: 10 * c * c + 3 * c),
        "conv_small": Blueprint(lambda c: ConvSeed(c, 1, 1), lambda c: 2 * c * c + 3 * c),
        "conv_heavy": Blueprint(lambda c: ConvSeed(c, 3, 3), lambda c: 18 * c * c + 3 * c),
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
