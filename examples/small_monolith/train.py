"""A population of small regressors in lockstep: the worst copies the best. Everything in one function."""

import argparse
import json
from pathlib import Path
from time import time

import torch
from torch import nn
from torch.nn import functional as F


def train(n_envs, epochs, seed, out):
    """Train ``n_envs`` members for some epochs; the best score. Writes ``events.jsonl`` into ``out``."""
    batch_size = 32
    best = float("inf")
    data = torch.Generator().manual_seed(seed)
    x = torch.linspace(-3, 3, 128).unsqueeze(1)
    target = torch.sin(2 * x)
    y = target + 0.1 * torch.randn(x.shape, generator=data)
    orders = [torch.Generator().manual_seed(seed + 1 + env_idx) for env_idx in range(n_envs)]

    with (Path(out) / "events.jsonl").open("w") as log:

        def emit(kind, env_idx=None, **payload):
            log.write(json.dumps({"kind": kind, "time": time(), "env": env_idx, **payload}) + "\n")

        def make_member(env_idx):
            torch.manual_seed(seed + env_idx)
            model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.02 * (1 + env_idx), momentum=0.9)
            return model, optimizer

        def train_epoch(env_idx, model, optimizer):
            total = torch.zeros(())
            for batch in torch.randperm(len(x), generator=orders[env_idx]).split(batch_size):
                optimizer.zero_grad()
                loss = F.mse_loss(model(x[batch]), y[batch])
                loss.backward()
                optimizer.step()
                total += loss.detach() * len(batch)
            return total / len(x)

        def validate(model):
            with torch.inference_mode():
                return F.mse_loss(model(x), target)

        def report(env_idx, epoch, loss, score):
            emit("epoch", env_idx, epoch=epoch, loss=loss.item(), score=score.item())

        def remember(score):
            nonlocal best
            best = min(best, score)

        population = [make_member(env_idx) for env_idx in range(n_envs)]
        for epoch in range(epochs):
            scores = []
            for env_idx in range(n_envs):
                model, optimizer = population[env_idx]
                loss = train_epoch(env_idx, model, optimizer)
                score = validate(model)
                report(env_idx, epoch, loss, score)
                scores.append(score)
            ranking = torch.stack(scores).argsort().tolist()
            remember(torch.stack(scores).min().item())
            population[ranking[-1]][0].load_state_dict(population[ranking[0]][0].state_dict())
            emit("copied", source=ranking[0], target=ranking[-1])
        emit("finished", best=best)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-envs", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    print(f"best score {train(options.n_envs, options.epochs, options.seed, options.out):.4f}")


if __name__ == "__main__":
    main()
