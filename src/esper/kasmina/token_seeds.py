"""Seeds that grow in transformer hosts: modules that map tokens to a change of them, same shape.

No seed lets a token see a later one, which is what the host is to predict.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from esper.kasmina.attention import CausalAttention
from esper.kasmina.image_seeds import Seed


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
