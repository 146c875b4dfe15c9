"""The convolutional host: a small image classifier cut into segments, with a slot after each."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from esper.leyline import SlotConfig

IMAGE_CHANNELS = 3
IMAGE_SIDE = 32


class ConvSegment(nn.Module):
    """Convolution, normalisation, ReLU; height and width halved by the stride, by pooling, or not."""

    def __init__(self, in_channels: int, out_channels: int, *, stride: int = 1, pooled: bool = False) -> None:
        super().__init__()
        self.pooled = pooled
        self.conv = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, in, height, width] to [batch, out, height, width], halved or not."""
        # Pooled first, the convolution has a quarter of the work, and hosts end as accurate.
        if self.pooled:
            x = F.avg_pool2d(x, 2)
        return F.relu(self.norm(self.conv(x)), inplace=True)

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
        stem = ConvSegment(sizes[0], sizes[1], stride=2 if halved[0] else 1)
        convolutions = [
            stem,
            *(ConvSegment(sizes[i], sizes[i + 1], pooled=halved[i]) for i in range(1, len(widths))),
        ]
        self.segments = nn.ModuleList([*convolutions, ClassifierSegment(sizes[-1], num_classes)])

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Output of segment `index`: features that enter slot `index`, or the logits."""
        return self.segments[index](x)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [batch, classes] of images [batch, 3, height, width], with no slot in between."""
        for segment in self.segments:
            x = segment(x)
        return x
