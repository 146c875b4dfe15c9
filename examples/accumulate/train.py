"""Data parallel by hand: micro-batches accumulate, gradients are summed over ranks by all_reduce."""

import argparse
from pathlib import Path

import torch
import torch.distributed.nn  # before there is a group: what it loads holds the group that is there
from torch import distributed, nn
from torch.nn import functional as F


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--micro", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(options.seed + rank)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    for parameter in net.parameters():
        distributed.broadcast(parameter.data, src=0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = torch.Generator().manual_seed(options.seed + 1)
    for step in range(options.steps):
        total = torch.zeros(1)
        optimizer.zero_grad()
        for _ in range(options.micro):
            x = torch.randn(16, 8, generator=data)[rank::world]
            loss = F.cross_entropy(net(x), (x[:, 0] > 0).long()) / options.micro
            loss.backward()
            total += loss.detach()
        for parameter in net.parameters():
            distributed.all_reduce(parameter.grad)
            parameter.grad /= world
        distributed.all_reduce(total)
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {total.item() / world:.4f}", flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
