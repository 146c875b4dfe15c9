"""The transformer host: a small character-level language model cut into segments, with a slot after each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from esper.kasmina.attention import CausalAttention
from esper.leyline import SlotConfig


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
