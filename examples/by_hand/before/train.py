"""A classifier, trained and pruned on the way; everything in one function."""

import argparse
import json
import pathlib

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--prune-at", type=int, default=40)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="out")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    folder = pathlib.Path(args.out)
    folder.mkdir(exist_ok=True)
    log = (folder / "events.jsonl").open("w")
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    inputs = torch.randn(256, 8)
    labels = inputs[:, :4].argmax(1)
    masks = {}

    def emit(kind, **fields):
        log.write(json.dumps({"type": kind, **fields}) + "\n")

    def draw():
        rows = torch.randint(len(inputs), (32,))
        return inputs[rows], labels[rows]

    for step in range(args.steps):
        x, y = draw()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        norm = torch.sqrt(sum(p.grad.square().sum() for p in model.parameters()))
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        for name, mask in masks.items():
            model.get_parameter(name).data.mul_(mask)
        if step == args.prune_at:
            for name, weight in model.named_parameters():
                if weight.dim() == 2:
                    size = weight.detach().abs()
                    masks[name] = size > torch.quantile(size, args.share)
            emit("pruned", step=step, share=args.share, reason="schedule")
        emit("step", step=step, loss=loss.item(), norm=norm.item())
    log.close()


if __name__ == "__main__":
    main()
