"""Loss and correct answers, one per image or one per character."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def mean_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of logits [..., classes] and targets [...], in float32, to train with."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())


def summed_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Summed cross-entropy of logits [..., classes] and targets [...], in float32."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten(), reduction="sum")


def count_correct(logits: Tensor, targets: Tensor) -> Tensor:
    """Correct answers of logits [..., classes], a scalar; of logits [C, ..., classes] one number per
    configuration [C].
    """
    right = logits.argmax(-1) == targets
    return right.sum() if right.dim() == targets.dim() else right.flatten(1).sum(1)
