"""A pipeline of two stages: activations go forward by send and recv, their gradients come back."""

import argparse
from pathlib import Path

import torch
import torch.distributed.nn  # before there is a group: what it loads holds the group that is there
from torch import distributed, nn
from torch.nn import functional as F

BATCH, WIDTH = 8, 16


def first_stage(steps: int, seed: int) -> None:
    torch.manual_seed(seed)
    stage = nn.Sequential(nn.Linear(8, WIDTH), nn.Tanh())
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(seed + 2)
    for _step in range(steps):
        optimizer.zero_grad()
        hidden = stage(torch.randn(BATCH, 8, generator=data))
        distributed.send(hidden.detach(), dst=1)
        gradient = torch.empty_like(hidden)
        distributed.recv(gradient, src=1)
        hidden.backward(gradient)
        optimizer.step()


def second_stage(steps: int, seed: int) -> None:
    torch.manual_seed(seed + 1)
    stage = nn.Linear(WIDTH, 2)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    labels = torch.Generator().manual_seed(seed + 3)
    for step in range(steps):
        optimizer.zero_grad()
        hidden = torch.empty(BATCH, WIDTH)
        distributed.recv(hidden, src=0)
        hidden.requires_grad_()
        loss = F.cross_entropy(stage(hidden), torch.randint(2, (BATCH,), generator=labels))
        loss.backward()
        distributed.send(hidden.grad, dst=0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    distributed.init_process_group("gloo")
    stage = (first_stage, second_stage)[distributed.get_rank()]
    stage(options.steps, options.seed)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
