"""How a seed's change joins the host's features."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from esper.leyline import BlendMode


class BlendGate(nn.Module):
    """A share in (0, 1), learnt from the host's features: one per image, from all of it; one per token, from
    that token only, since its future is what the host is to predict.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, 1)

    def forward(self, features: Tensor) -> Tensor:
        """Shares [batch, 1, 1, 1] of feature maps, or [batch, tokens, 1] of tokens."""
        if features.dim() == 3:
            return torch.sigmoid(self.linear(features))
        return torch.sigmoid(self.linear(features.mean(dim=(2, 3))))[:, :, None, None]


def blend(mode: BlendMode, features: Tensor, change: Tensor, alpha: float, gate: BlendGate | None) -> Tensor:
    """Features with a share `alpha` of the seed's `change` of them, which has the same shape.

    add: h + alpha c; multiply: h (1 + alpha tanh c); gate: h + alpha g(h) c.
    """
    match mode:
        case BlendMode.ADD:
            return torch.add(features, change, alpha=alpha)
        case BlendMode.MULTIPLY:
            return torch.addcmul(features, features, torch.tanh(change), value=alpha)
        case BlendMode.GATE:
            if gate is None:
                raise ValueError("gated blending needs a gate")
            return torch.addcmul(features, gate(features), change, value=alpha)


def straight_through(features: Tensor, change: Tensor) -> Tensor:
    """The features' values with the change's gradient: the seed learns while the host computes as before.

    Straight-through estimator (Bengio et al., 2013, arXiv:1308.3432). `change` must come from detached
    features, so that the host's gradient is what it is without a seed.
    """
    return features + _room(features, change) * (change - change.detach())


@torch.no_grad()
def _room(features: Tensor, change: Tensor) -> Tensor:
    """One share per example, [batch, 1, ...]: 1 for no change, down to 0 for one as large as the features.

    The loss does not feel a change that is only tried out, so its gradient never turns: nothing else would
    keep the change from growing past what the host can bear once it is blended in.
    """
    sizes = [
        torch.linalg.vector_norm(part.flatten(1), dim=1, dtype=torch.float32) for part in (features, change)
    ]
    share = (1.0 - sizes[1] / sizes[0].clamp_min(torch.finfo(torch.float32).tiny)).clamp_min(0.0)
    return share.to(change.dtype).view(-1, *(1,) * (change.dim() - 1))
