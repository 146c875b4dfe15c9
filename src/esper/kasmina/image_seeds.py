"""Seeds that grow in convolutional hosts: modules that map feature maps to a change of them, same shape."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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


class ConvLightSeed(Seed):
    """Full 3x3 convolution, then a pointwise one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        return self.output(F.relu(self.norm(self.conv(x)), inplace=True))


class ConvSmallSeed(Seed):
    """Two pointwise convolutions: mixes channels, sees no neighbours."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Change of the features, same shape as `x`."""
        return self.output(F.relu(self.norm(self.conv(x)), inplace=True))


class ConvHeavySeed(Seed):
    """Two full 3x3 convolutions, as a residual block has (He et al., 2016, arXiv:1512.03385)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.output = nn.Conv2d(channels, channels, 3, padding=1)

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
