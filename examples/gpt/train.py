"""A character-level GPT on a text of our own: warm-up, cosine decay, evaluation, the best checkpoint."""

import argparse
import csv
import math
import time
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
        scores = scores.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
        x = x + self.drop(self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)))
        return x + self.drop(self.mlp(self.norm2(x)))


class GPT(nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, 4, 0.1) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        nn.init.normal_(self.tokens.weight, std=0.1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        logits = self.head(self.norm(self.blocks(h)))
        return logits, F.cross_entropy(logits.flatten(0, 1), y.flatten())


def text() -> torch.Tensor:
    words = ["the", "loop", "reads", "a", "batch", "and", "writes", "weights", "slowly", "again"]
    sentence = " ".join(words[(i * i + i // 7) % 10] for i in range(900))
    return torch.tensor([ord(c) - 97 if c != " " else 26 for c in sentence])


def batch(data: torch.Tensor, context: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    starts = torch.randint(len(data) - context - 1, (size,))
    x = torch.stack([data[i : i + context] for i in starts])
    y = torch.stack([data[i + 1 : i + context + 1] for i in starts])
    return x, y


@torch.no_grad()
def evaluate(model: GPT, data: torch.Tensor, context: int, batches: int) -> tuple[float, float]:
    model.eval()
    losses, hits, seen = torch.zeros(batches), 0, 0
    generator = torch.Generator().manual_seed(7)
    for k in range(batches):
        starts = torch.randint(len(data) - context - 1, (8,), generator=generator)
        x = torch.stack([data[i : i + context] for i in starts])
        y = torch.stack([data[i + 1 : i + context + 1] for i in starts])
        logits, loss = model(x, y)
        losses[k] = loss
        hits += (logits.argmax(-1) == y).sum().item()
        seen += y.numel()
    model.train()
    return losses.mean().item(), hits / seen


def learning_rate(step: int, steps: int, peak: float) -> float:
    warm = 5
    if step < warm:
        return peak * (step + 1) / warm
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    data, context = text(), 16
    train, held_out = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]
    model = GPT(27, context)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95), fused=True)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(train)} characters")

    best, tokens, begun = float("inf"), 0, time.time()
    with (options.out / "metrics.csv").open("w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["step", "train_loss", "val_loss", "val_accuracy", "lr", "tokens", "elapsed"])
        running = 0.0
        for step in range(options.steps):
            lr = learning_rate(step, options.steps, 3e-3)
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.zero_grad(set_to_none=True)
            for _ in range(2):
                x, y = batch(train, context, 4)
                with nullcontext():
                    _, loss = model(x, y)
                (loss / 2).backward()
                running += loss.item() / 2
                tokens += x.numel()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if (step + 1) % options.every == 0:
                val_loss, val_accuracy = evaluate(model, held_out, context, 2)
                train_loss, running = running / options.every, 0.0
                log.writerow([step + 1, train_loss, val_loss, val_accuracy, lr, tokens, time.time() - begun])
                print(f"step {step + 1}: train {train_loss:.4f} val {val_loss:.4f} grad norm {norm:.3f}")
                if val_loss < best:
                    best = val_loss
                    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save({**state, "step": step + 1, "val_loss": best}, options.out / "best.pt")
    perplexity = math.exp(best)
    print(f"best perplexity {perplexity:.3f} in {time.time() - begun:.1f} s")
    torch.save({"model": model.state_dict(), "step": options.steps}, options.out / "last.pt")


if __name__ == "__main__":
    main()
