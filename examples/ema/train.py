"""An image classifier with an average of its weights: SGD, random flips, evaluation of both models."""

import argparse
import copy
import json
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(64, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(self.body(x)))


def images(count: int, classes: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Blobs whose place tells their class."""
    labels = torch.randint(classes, (count,), generator=generator)
    grid = torch.arange(12).float()
    centre = 2.0 + 2.0 * labels.float()
    row = torch.exp(-((grid - centre[:, None]) ** 2) / 6)
    found = row[:, None, :, None] * row[:, None, None, :].flip(3)
    return found + 0.6 * torch.randn(count, 1, 12, 12, generator=generator), labels


@torch.no_grad()
def average(shadow: nn.Module, model: nn.Module, decay: float) -> None:
    for kept, new in zip(shadow.parameters(), model.parameters(), strict=True):
        kept.data.mul_(decay).add_(new.data, alpha=1 - decay)
    for kept, new in zip(shadow.buffers(), model.buffers(), strict=True):
        kept.copy_(new)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader, classes: int) -> dict[str, object]:
    model.eval()
    loss, right, seen = 0.0, 0, 0
    table = torch.zeros(classes, classes, dtype=torch.long)
    for x, y in loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        guess = logits.argmax(1)
        right += (guess == y).sum().item()
        seen += len(y)
        table.index_put_((y, guess), torch.ones_like(y), accumulate=True)
    recall = table.diag() / table.sum(1).clamp(min=1)
    return {"loss": loss / seen, "accuracy": right / seen, "recall": recall.tolist()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    classes, generator = 5, torch.Generator().manual_seed(options.seed + 1)
    train = TensorDataset(*images(192, classes, generator))
    test = TensorDataset(*images(80, classes, generator))
    shuffle = torch.Generator().manual_seed(options.seed + 2)
    loader = DataLoader(train, 24, shuffle=True, generator=shuffle)
    held_out = DataLoader(test, 32)
    model = Net(classes)
    shadow = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, options.epochs * len(loader))
    history, best = [], 0.0
    with (options.out / "log.jsonl").open("w") as log:
        for epoch in range(options.epochs):
            begun, total, right = time.perf_counter(), 0.0, 0
            model.train()
            for x, y in loader:
                flip = torch.rand(len(x)) < 0.5
                x = torch.where(flip[:, None, None, None], x.flip(2).transpose(2, 3), x)
                logits = model(x)
                loss = F.cross_entropy(logits, y, label_smoothing=0.05)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                rate = schedule.get_last_lr()[0]
                schedule.step()
                average(shadow, model, 0.9)
                total += loss.item() * len(y)
                right += (logits.argmax(1) == y).sum().item()
            plain, averaged = evaluate(model, held_out, classes), evaluate(shadow, held_out, classes)
            row = {"epoch": epoch, "train_loss": total / len(train), "train_accuracy": right / len(train)}
            row |= {"lr": rate, "val": plain, "ema": averaged, "seconds": time.perf_counter() - begun}
            log.write(json.dumps(row) + "\n")
            history.append(averaged["accuracy"])
            print(
                f"epoch {epoch + 1} of {options.epochs} "
                f"val {plain['accuracy']:.3f} ema {averaged['accuracy']:.3f}"
            )
            if averaged["accuracy"] >= best:
                best = averaged["accuracy"]
                torch.save(
                    {"ema": shadow.state_dict(), "epoch": epoch, "best": best}, options.out / "best.pt"
                )
    summary = {
        "best": best,
        "final": history[-1],
        "history": history,
        "parameters": len(list(model.parameters())),
    }
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1))
    torch.save(
        {"model": model.state_dict(), "ema": shadow.state_dict(), "rng": torch.get_rng_state()},
        options.out / "last.pt",
    )


if __name__ == "__main__":
    main()
