"""Batch normalisation over the parts of a batch that lie on several ranks, on any device."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class _Summed(torch.autograd.Function):
    """The sum of a tensor over ranks; what its gradient is on each of them, each part of it takes."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        whole = part.clone()
        dist.all_reduce(whole, group=group)
        return whole

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        whole = gradients[0].clone()
        dist.all_reduce(whole, group=ctx.group)
        return whole, None


class SharedBatchNorm2d(nn.BatchNorm2d):
    """Normalises by mean and variance of the whole batch; torch's SyncBatchNorm does so on GPUs only."""

    group: Any

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, height, width], same shape."""
        if not self.training:
            return super().forward(x)
        count = x.numel() // x.shape[1]
        sums = torch.cat([x.sum((0, 2, 3)), x.new_full((1,), count)])
        sums = _Summed.apply(sums, self.group)
        number = sums[-1].detach()
        mean = sums[:-1] / number
        centred = x - mean[:, None, None]
        variance = _Summed.apply(centred.square().sum((0, 2, 3)), self.group) / number
        with torch.no_grad():
            momentum = self.momentum or 0.0
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.num_batches_tracked is not None
            self.running_mean.lerp_(mean, momentum)
            self.running_var.lerp_(variance * (number / (number - 1)), momentum)
            self.num_batches_tracked += 1
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return centred * scale[:, None, None] + self.bias[:, None, None]


def share_normalisation(module: nn.Module, group: dist.ProcessGroup) -> None:
    """Have every batch normalisation in a module look at the whole batch."""
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.__class__ = SharedBatchNorm2d
            layer.group = group  # type: ignore[assignment]
