"""Hosts: convolutional networks and transformers in segments, with slots between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from esper.leyline import SlotConfig

ModuleT = TypeVar("ModuleT", bound=nn.Module)

EMBEDDING_BOUND = 0.1


def materialise(build: Callable[[], ModuleT], generator: Generator) -> ModuleT:
    """The module that `build` makes, on the CPU, initialised from `generator`.

    Torch's constructors draw from the global random state; building on the meta device draws nothing.
    """
    with torch.device("meta"):
        module = build()
    module.to_empty(device=generator.device)
    initialise(module, generator)
    return module


def initialise(module: nn.Module, generator: Generator) -> None:
    """Fill all parameters and buffers of `module`; TypeError for a layer that no rule covers."""
    for name, layer in module.named_modules():
        if not any(True for _ in layer.parameters(recurse=False)):
            continue
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.Linear):
            bound = 1.0 / math.sqrt(layer.in_features)
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
        elif isinstance(layer, nn.Embedding):
            nn.init.uniform_(layer.weight, -EMBEDDING_BOUND, EMBEDDING_BOUND, generator=generator)
        elif isinstance(layer, nn.BatchNorm2d | nn.GroupNorm | nn.LayerNorm):
            # Draws nothing: weights one, biases zero, running statistics as new.
            layer.reset_parameters()
        else:
            raise TypeError(f"no initialisation rule for {type(layer).__name__} at {name or 'the root'!r}")


HEAD_CHANNELS = 16


class CausalAttention(nn.Module):
    """Multi-head self-attention (Vaswani et al., 2017, arXiv:1706.03762), without the output projection.

    Written out instead of calling a fused kernel: those differ between devices in what they round, and some
    have no deterministic backward pass.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.heads = max(1, channels // HEAD_CHANNELS)
        if channels % self.heads:
            raise ValueError(f"{channels} channels can't be shared by {self.heads} heads")
        self.project = nn.Linear(channels, 3 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens [batch, tokens, channels] to what they attend to, same shape."""
        tokens = x.shape[1]
        query, key, value = self.project(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
        return (weights @ value).transpose(1, 2).flatten(2)


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
        """Return the settings that the submodules don't show."""
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


class TransformerBlock(nn.Module):
    """Causal self-attention and a two-layer perceptron, each behind a normalisation and beside a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(channels)
        self.attention = CausalAttention(channels)
        self.project = nn.Linear(channels, channels)
        self.mlp_norm = nn.LayerNorm(channels)
        self.widen = nn.Linear(channels, 2 * channels)
        self.narrow = nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, tokens, channels], same shape."""
        x = x + self.project(self.attention(self.attention_norm(x)))
        return x + self.narrow(F.relu(self.widen(self.mlp_norm(x)), inplace=True))


class EmbeddingSegment(nn.Module):
    """Characters and their positions as vectors, then the first block."""

    def __init__(self, alphabet: int, context_length: int, channels: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(alphabet, channels)
        self.positions = nn.Embedding(context_length, channels)
        self.block = TransformerBlock(channels)

    def forward(self, tokens: Tensor) -> Tensor:
        """Characters [batch, tokens] to [batch, tokens, channels]; at most `context_length` tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.block(self.characters(tokens) + self.positions(places))


class PredictionSegment(nn.Module):
    """Normalisation and a linear layer: the next character of every position."""

    def __init__(self, channels: int, alphabet: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.linear = nn.Linear(channels, alphabet)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, tokens, channels] to logits [batch, tokens, alphabet]."""
        return self.linear(self.norm(x))


class TransformerHost(nn.Module):
    """One block per slot, the first after the embedding, then the prediction."""

    def __init__(
        self, widths: Sequence[int], alphabet: int, context_length: int, slot_config: SlotConfig
    ) -> None:
        super().__init__()
        if len(widths) != slot_config.num_slots:
            raise ValueError(f"{len(widths)} widths for {slot_config.num_slots} slots; one width per slot")
        if len(set(widths)) != 1:
            raise ValueError(f"a transformer has one width, not {', '.join(str(width) for width in widths)}")
        self.slot_ids = slot_config.slot_ids
        self.slot_channels = dict.fromkeys(slot_config.slot_ids, widths[0])
        blocks = [TransformerBlock(widths[0]) for _ in widths[1:]]
        self.segments = nn.ModuleList(
            [
                EmbeddingSegment(alphabet, context_length, widths[0]),
                *blocks,
                PredictionSegment(widths[0], alphabet),
            ]
        )

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Output of segment `index`: tokens that enter slot `index`, or the logits."""
        return self.segments[index](x)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [batch, tokens, alphabet] of characters [batch, tokens], with no slot in between."""
        x = tokens
        for segment in self.segments:
            x = segment(x)
        return x


def create_host(
    widths: Sequence[int],
    *,
    num_classes: int,
    generator: Generator,
    slot_config: SlotConfig | None = None,
    halved: Sequence[bool] | None = None,
) -> CNNHost:
    """A convolutional host initialised from `generator`, on its device."""
    slots = slot_config or SlotConfig()
    return materialise(lambda: CNNHost(widths, num_classes, slots, halved), generator)


def create_text_host(
    widths: Sequence[int],
    *,
    alphabet: int,
    context_length: int,
    generator: Generator,
    slot_config: SlotConfig,
) -> TransformerHost:
    """A transformer host initialised from `generator`, on its device."""
    return materialise(lambda: TransformerHost(widths, alphabet, context_length, slot_config), generator)
