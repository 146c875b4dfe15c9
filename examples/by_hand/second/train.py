"""A classifier, trained and pruned on the way; everything in one function."""

import argparse
import pathlib

import torch
from torch import nn

from data import draw
from events import emit
from update import update


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
    for step in range(args.steps):
        x, y = draw(inputs, labels)
        loss, norm = update(model, optimizer, x, y)
        for name, mask in masks.items():
            model.get_parameter(name).data.mul_(mask)
        if step == args.prune_at:
            for name, weight in model.named_parameters():
                if weight.dim() == 2:
                    size = weight.detach().abs()
                    masks[name] = size > torch.quantile(size, args.share)
            emit("pruned", log=log, step=step, share=args.share, reason="schedule")
        emit("step", log=log, step=step, loss=loss.item(), norm=norm.item())
    log.close()


if __name__ == "__main__":
    main()
