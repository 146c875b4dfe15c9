"""Self-attention in which no token sees a later one."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

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
