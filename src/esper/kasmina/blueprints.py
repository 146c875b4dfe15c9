"""What can grow in a slot: modules that map features to a change of the features, of the same shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from esper.kasmina.initialise import materialise


class Blueprint(nn.Module):
    """A seed module. `output` is its last layer: zeroed at birth, so that a fresh seed changes nothing."""

    output: nn.Module


class NormSeed(Blueprint):
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


class AttentionSeed(Blueprint):
    """Squeeze-and-excitation (Hu et al., 2018, arXiv:1709.01507) as a change: channels scaled by up to ±1."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, max(4, channels // 4))
        self.output = nn.Linear(max(4, channels // 4), channels)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        weights = torch.tanh(self.output(F.relu(self.squeeze(x.mean(dim=(2, 3))))))
        return x * weights[:, :, None, None]


class DepthwiseSeed(Blueprint):
    """Depthwise 3x3 convolution, then a pointwise one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        return self.output(F.relu(self.norm(self.depthwise(x)), inplace=True))


class ConvLightSeed(Blueprint):
    """Full 3x3 convolution, then a pointwise one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        return self.output(F.relu(self.norm(self.conv(x)), inplace=True))


BLUEPRINTS: Mapping[str, Callable[[int], Blueprint]] = {
    "norm": NormSeed,
    "attention": AttentionSeed,
    "depthwise": DepthwiseSeed,
    "conv_light": ConvLightSeed,
}
"""Constructors by name, each of a number of channels."""


def build_seed(name: str, channels: int, generator: Generator) -> Blueprint:
    """A fresh seed of the named blueprint; ValueError if there is none of that name."""
    if name not in BLUEPRINTS:
        raise ValueError(f"no blueprint {name!r}; there are {', '.join(BLUEPRINTS)}")
    seed = materialise(lambda: BLUEPRINTS[name](channels), generator)
    for parameter in seed.output.parameters():
        nn.init.zeros_(parameter)
    return seed


def _groups(channels: int) -> int:
    return next(groups for groups in (4, 2, 1) if channels % groups == 0)
