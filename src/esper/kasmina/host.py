"""The convolutional host: a small image classifier cut into segments, with a slot after each."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Generator, Tensor, nn
from torch.nn import functional as F

from esper.kasmina.initialise import materialise
from esper.leyline import SlotConfig

IMAGE_CHANNELS = 3


class ConvSegment(nn.Module):
    """Convolution, halving of height and width (by its stride or by pooling), normalisation, ReLU."""

    def __init__(self, in_channels: int, out_channels: int, *, pooled: bool) -> None:
        super().__init__()
        self.pooled = pooled
        stride = 1 if pooled else 2
        self.conv = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, in, height, width] to [batch, out, height / 2, width / 2]."""
        x = self.conv(x)
        # What follows the pooling has a quarter of the work.
        if self.pooled:
            x = F.max_pool2d(x, 2)
        return F.relu(self.norm(x), inplace=True)


class ClassifierSegment(nn.Module):
    """Global average pooling and a linear layer."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, height, width] to logits [batch, classes]."""
        return self.linear(x.mean(dim=(2, 3)))


class CNNHost(nn.Module):
    """One `ConvSegment` per slot, then the classifier."""

    def __init__(self, widths: Sequence[int], num_classes: int, slot_config: SlotConfig) -> None:
        super().__init__()
        if len(widths) != slot_config.num_slots:
            raise ValueError(f"{len(widths)} widths for {slot_config.num_slots} slots; one width per slot")
        self.slot_ids = slot_config.slot_ids
        self.slot_channels = dict(zip(slot_config.slot_ids, widths, strict=True))
        sizes = [IMAGE_CHANNELS, *widths]
        # At full resolution, a convolution of three channels would cost as much as the rest of the host.
        convolutions = [ConvSegment(sizes[i], sizes[i + 1], pooled=i > 0) for i in range(len(widths))]
        self.segments = nn.ModuleList([*convolutions, ClassifierSegment(sizes[-1], num_classes)])

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Output of segment `index`: features that enter slot `index`, or the logits."""
        return self.segments[index](x)

    def forward(self, x: Tensor) -> Tensor:
        """Logits [batch, classes] of images [batch, 3, height, width], with no slot in between."""
        for segment in self.segments:
            x = segment(x)
        return x


def create_host(
    widths: Sequence[int], *, num_classes: int, generator: Generator, slot_config: SlotConfig | None = None
) -> CNNHost:
    """A host initialised from `generator`, on its device."""
    slots = slot_config or SlotConfig()
    return materialise(lambda: CNNHost(widths, num_classes, slots), generator)
