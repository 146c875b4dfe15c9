"""Data from loader worker processes, automatic mixed precision, two optimizers on one model."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    """Sine waves of four frequencies, with noise that belongs to the index."""

    def __len__(self) -> int:
        return 128

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        noise = torch.randn(64, generator=torch.Generator().manual_seed(index))
        wave = torch.sin(torch.arange(64) * 0.2 * (index % 4 + 1) + torch.rand(()))
        return wave + 0.3 * noise, index % 4


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2), nn.GELU(), nn.Conv1d(8, 16, 5, stride=2))
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.gelu(self.features(x[:, None])).mean(2))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    net = Net()
    body = torch.optim.SGD(net.features.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    head = torch.optim.Adam(net.head.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu")
    loader = DataLoader(Waves(), batch_size=32, shuffle=True, num_workers=options.workers)
    with (options.out / "log.jsonl").open("w") as log:
        for epoch in range(2):
            for x, y in loader:
                with torch.autocast("cpu", torch.bfloat16):
                    loss = F.cross_entropy(net(x), y)
                body.zero_grad()
                head.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(body)
                scaler.step(head)
                scaler.update()
            log.write(json.dumps({"type": "epoch", "epoch": epoch, "loss": loss.item()}) + "\n")


if __name__ == "__main__":
    main()
