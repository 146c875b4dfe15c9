"""A single-file supervised loop: a small CNN with dropout and batch norm on generated images."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = torch.relu(self.conv2(x)).mean((2, 3))
        return self.head(self.dropout(x))


def images(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    labels = torch.randint(4, (count,), generator=generator)
    x = torch.randn(count, 3, 16, 16, generator=generator)
    rows = torch.arange(16)
    for k in range(4):
        x[labels == k] += torch.sin(rows * (k + 1) * 0.7)[None, None, :, None]
    return x, labels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", metavar="BACKEND", help="run the model through torch.compile")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    x, y = images(512, torch.Generator().manual_seed(1))
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=options.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    model = torch.compile(net, backend=options.compile) if options.compile else net
    with (options.out / "metrics.jsonl").open("w") as log:
        for epoch in range(options.epochs):
            total = 0.0
            for batch in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x[batch]), y[batch])
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                total += loss.item() * len(batch)
            schedule.step()
            net.eval()
            with torch.inference_mode():
                accuracy = (net(x).argmax(1) == y).float().mean().item()
            net.train()
            log.write(
                json.dumps({"type": "epoch", "epoch": epoch, "loss": total / len(x), "accuracy": accuracy})
                + "\n"
            )
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
