"""The convolutional host: a small image classifier cut into segments, with a slot after each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from esper.leyline import SlotConfig

IMAGE_CHANNELS = 3
IMAGE_SIDE = 32

Pooled = Literal["no", "before", "after"]
"""Whether a segment pools, and on which side of its convolution."""


class ConvSegment(nn.Module):
    """Convolution, normalisation, ReLU; height and width halved by the stride, by pooling, or not."""

    def __init__(
        self, in_channels: int, out_channels: int, *, stride: int = 1, pooled: Pooled = "no"
    ) -> None:
        super().__init__()
        self.pooled = pooled
        self.conv = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, in, height, width] to [batch, out, height, width], halved or not."""
        if self.pooled == "before":
            x = F.max_pool2d(x, 2)
        x = self.conv(x)
        # What follows the pooling has a quarter of the work.
        if self.pooled == "after":
            x = F.max_pool2d(x, 2)
        return F.relu(self.norm(x), inplace=True)

    def extra_repr(self) -> str:
        """What the parts don't show."""
        return f"pooled={self.pooled}"


class ClassifierSegment(nn.Module):
    """Global average pooling and a linear layer."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, height, width] to logits [batch, classes]."""
        return self.linear(x.mean(dim=(2, 3)))


class CNNHost(nn.Module):
    """One `ConvSegment` per slot, then the classifier. `halved`: which segments halve height and width."""

    def __init__(
        self,
        widths: Sequence[int],
        num_classes: int,
        slot_config: SlotConfig,
        halved: Sequence[bool] | None = None,
    ) -> None:
        super().__init__()
        halved = [True] * len(widths) if halved is None else halved
        if not len(widths) == len(halved) == slot_config.num_slots:
            raise ValueError(f"{len(widths)} widths for {slot_config.num_slots} slots; one width per slot")
        if 2 ** sum(halved) > IMAGE_SIDE:
            raise ValueError(f"an image of {IMAGE_SIDE} pixels a side can't be halved {sum(halved)} times")
        self.slot_ids = slot_config.slot_ids
        self.slot_channels = dict(zip(slot_config.slot_ids, widths, strict=True))
        sizes = [IMAGE_CHANNELS, *widths]
        # At full resolution, a convolution of three channels would cost as much as the rest of the host.
        convolutions = [ConvSegment(sizes[0], sizes[1], stride=2 if halved[0] else 1)]
        for index in range(1, len(widths)):
            # Pooling first saves three quarters of a convolution; fine textures must meet two before it.
            side: Pooled = "after" if index == 1 else "before"
            pooled = side if halved[index] else "no"
            convolutions.append(ConvSegment(sizes[index], sizes[index + 1], pooled=pooled))
        self.segments = nn.ModuleList([*convolutions, ClassifierSegment(sizes[-1], num_classes)])

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Output of segment `index`: features that enter slot `index`, or the logits."""
        return self.segments[index](x)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [batch, classes] of images [batch, 3, height, width], with no slot in between."""
        for segment in self.segments:
            x = segment(x)
        return x
