"""Two processes under torchrun (gloo): data parallel training, each on its own part of the batch."""

import argparse
import json
import os
from pathlib import Path

import torch
import torch.distributed.nn  # before there is a group: what it loads holds the group that is there
from torch import distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(options.seed)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(options.seed + 1)
    with (options.out / f"rank-{os.environ['RANK']}.jsonl").open("w") as log:
        for step in range(options.steps):
            x = torch.randn(32, 8, generator=generator)[rank::world]
            loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.write(json.dumps({"type": "step", "rank": rank, "step": step, "loss": loss.item()}) + "\n")
    # Freed after the group, the wrapper would be the last to hold it, and torch 2.13 can then wait forever.
    del model, optimizer, loss
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
