"""Hosts that several ranks train together, each on a part of every batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from esper.kasmina import MorphogeneticModel, separately
from esper.leyline.errors import InputError
from esper.tolaria.shared_norm import share_normalisation

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
