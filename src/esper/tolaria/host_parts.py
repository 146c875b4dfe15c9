"""Hosts that several ranks train together, each on a part of every batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from esper.kasmina import MorphogeneticModel, separately
from esper.leyline.errors import InputError


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


Kind = Literal["ddp", "fsdp"]


class HostParts:
    """The ranks that train one group of hosts: `count` neighbours of the process group, this one at `index`.

    By "ddp" each has all weights of a host, by "fsdp" a part of each tensor; gradients are summed over them
    either way (torch's fully_shard, on a mesh of copies and shards). Every segment of a host, every seed and
    gate is a unit of its own, so that seeds come and go. InputError where the ranks can't be divided so.
    """

    def __init__(self, kind: Kind, count: int, device_type: str) -> None:
        ranks = dist.get_world_size()
        if ranks % count:
            raise InputError(f"--host-parallel {kind}:{count}: {ranks} processes can't be divided by {count}")
        shape = (ranks // count, count, 1) if kind == "ddp" else (ranks // count, 1, count)
        mesh = init_device_mesh(device_type, shape, mesh_dim_names=("groups", "copies", "shards"))
        self._mesh = mesh["copies", "shards"]
        self._group = mesh["copies" if kind == "ddp" else "shards"].get_group()
        self.count, self.index = count, dist.get_rank() % count
        # Nothing here writes into what a segment has put out.
        warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor")

    def spread(self, model: MorphogeneticModel) -> None:
        """Have the ranks train this host together."""
        for segment in model.host.segments:
            self._unit(segment)

    def spread_seed(self, model: MorphogeneticModel, slot_id: str) -> None:
        """The same for a seed that has grown since."""
        slot = model.slot(slot_id)
        for module in (slot.seed, slot.gate):
            if module is not None:
                self._unit(module)

    def _unit(self, module: nn.Module) -> None:
        module.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        share_normalisation(module, self._group)
        fully_shard(module, mesh=self._mesh, reshard_after_forward=True)
        module.set_gradient_divide_factor(1.0)  # type: ignore[operator]
        module.set_force_sum_reduction_for_comms(True)  # type: ignore[operator]

    def own(self, batch: Tensor) -> Tensor:
        """This rank's examples of a batch."""
        return batch.tensor_split(self.count)[self.index]

    def sum(self, totals: Sequence[Tensor]) -> None:
        """Add up the totals of all parts, in place."""
        if totals:
            both = torch.stack(list(totals))
            dist.all_reduce(both, group=self._group)
            for total, whole in zip(totals, both, strict=True):
                total.copy_(whole)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Compute without gradients. Gathered weights are kept for training, so not in inference mode; and
        what is tried out on the way is no part's own decision, since all must gather weights equally often.
        """
        with torch.no_grad(), separately():
            yield
