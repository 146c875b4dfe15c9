"""No optimizer at all: weights as plain tensors, momentum, decay and an average of the weights by hand."""

import argparse
import json
import math
import time
from pathlib import Path

import torch


def data(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(count, 2, generator=generator) * 4 - 2
    y = (x[:, 0] * x[:, 1] + 0.5 * torch.sin(3 * x[:, 0]) > 0).float()
    return x, y


def forward(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    h = torch.tanh(x @ weights["w1"] + weights["b1"])
    h = torch.tanh(h @ weights["w2"] + weights["b2"])
    return (h @ weights["w3"] + weights["b3"]).squeeze(1)


def cross_entropy(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, y)


@torch.no_grad()
def evaluate(weights: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
    logits = forward(x, weights)
    guess = (logits > 0).float()
    hits = (guess == y).float().mean().item()
    positive = y.sum().item()
    found = (guess * y).sum().item()
    precision = found / max(1.0, guess.sum().item())
    return {
        "loss": cross_entropy(logits, y).item(),
        "accuracy": hits,
        "recall": found / positive,
        "precision": precision,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    generator = torch.Generator().manual_seed(options.seed)
    x, y = data(256, generator)
    held_x, held_y = data(96, generator)
    shapes = {"w1": (2, 16), "b1": (16,), "w2": (16, 16), "b2": (16,), "w3": (16, 1), "b3": (1,)}
    weights = {
        name: torch.randn(shape, generator=generator) / math.sqrt(shape[0]) for name, shape in shapes.items()
    }
    for tensor in weights.values():
        tensor.requires_grad_()
    velocity = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
    mean = {name: torch.zeros_like(tensor) for name, tensor in weights.items()}
    averaged, lowest, losses, begun = 0, float("inf"), [], time.time()
    for step in range(options.steps):
        rows = torch.randint(len(x), (32,), generator=generator)
        loss = cross_entropy(forward(x[rows], weights), y[rows])
        loss.backward()
        rate = 0.3 * 0.5 ** (step // 20)
        with torch.no_grad():
            norm = math.sqrt(sum(float(t.grad.square().sum()) for t in weights.values()))
            for name, tensor in weights.items():
                step_by = tensor.grad + 1e-4 * tensor
                velocity[name].mul_(0.9).add_(step_by)
                tensor.data.add_(velocity[name], alpha=-rate)
                tensor.grad.zero_()
            if step >= options.steps // 2:
                averaged += 1
                for name, tensor in weights.items():
                    mean[name] += (tensor - mean[name]) / averaged
        losses.append(loss.item())
        if (step + 1) % 15 == 0:
            scores = evaluate(weights, held_x, held_y)
            recent = sum(losses[-15:]) / 15
            print(
                f"{step + 1:4d} loss {recent:.4f} held out {scores['loss']:.4f} norm {norm:.4f} "
                f"accuracy {scores['accuracy']:.3f} {time.time() - begun:.2f}s"
            )
            if scores["loss"] < lowest:
                lowest = scores["loss"]
                torch.save({"weights": weights, "step": step + 1, "scores": scores}, options.out / "best.pt")
    final = {
        "last": evaluate(weights, held_x, held_y),
        "averaged": evaluate(mean, held_x, held_y),
        "averages": averaged,
    }
    (options.out / "scores.json").write_text(json.dumps({**final, "rate": rate, "lowest": lowest}))
    torch.save(
        {"weights": weights, "mean": mean, "velocity": velocity, "step": options.steps},
        options.out / "last.pt",
    )


if __name__ == "__main__":
    main()
