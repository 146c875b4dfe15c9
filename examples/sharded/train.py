"""Parameters sharded over ranks by FSDP2: every rank owns and steps its own rows."""

import argparse
from pathlib import Path

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(options.seed)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = torch.Generator().manual_seed(options.seed + 1)
    for step in range(options.steps):
        optimizer.zero_grad()
        x = torch.randn(16, 8, generator=data)[rank::world]
        loss = F.cross_entropy(net(x), (x[:, 0] > 0).long())
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    # torch keeps the mesh, which holds the group, and aborts where the group has work left at the very end.
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
