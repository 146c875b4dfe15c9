"""A character transformer on a small text, with gradient accumulation and AdamW."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. " * 12


class Transformer(nn.Module):
    def __init__(self, vocabulary: int, width: int = 32, context: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.zeros(context, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(context))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.embed(tokens) + self.position, mask=self.mask, is_causal=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--accumulate", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    letters = sorted(set(TEXT))
    data = torch.tensor([letters.index(c) for c in TEXT])
    net = Transformer(len(letters))
    decay = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for p in net.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=3e-3, fused=True
    )
    with (options.out / "log.jsonl").open("w") as log:
        for step in range(options.steps):
            total = 0.0
            for _ in range(options.accumulate):
                start = torch.randint(len(data) - 25, (8,))
                rows = torch.stack([data[i : i + 25] for i in start])
                loss = F.cross_entropy(net(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
                (loss / options.accumulate).backward()
                total += loss.item() / options.accumulate
            norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            log.write(json.dumps({"type": "step", "step": step, "loss": total, "norm": norm.item()}) + "\n")


if __name__ == "__main__":
    main()
