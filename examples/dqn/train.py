"""DQN on a grid of our own: replay, a target network, exploration that decays, greedy evaluation."""

import argparse
import collections
import csv
import random
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Grid:
    """A walk on a 5 by 5 grid to the far corner, with a wind that sometimes pushes back."""

    def __init__(self, seed: int) -> None:
        self.wind = np.random.default_rng(seed)

    def reset(self) -> np.ndarray:
        self.place, self.steps = [0, 0], 0
        return self.seen()

    def seen(self) -> np.ndarray:
        return np.array([self.place[0] / 4, self.place[1] / 4, self.steps / 20], dtype=np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool]:
        axis, way = action // 2, 1 if action % 2 else -1
        if self.wind.random() < 0.1:
            way = -way
        self.place[axis] = min(4, max(0, self.place[axis] + way))
        self.steps += 1
        done = self.place == [4, 4]
        return self.seen(), (1.0 if done else -0.02), done, self.steps >= 20


class QNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


@torch.no_grad()
def evaluate(net: QNet, seed: int, episodes: int = 3) -> tuple[float, float]:
    env, returns, lengths = Grid(seed), [], []
    for _ in range(episodes):
        state, total, over = env.reset(), 0.0, False
        while not over:
            action = net(torch.from_numpy(state)).argmax().item()
            state, reward, done, cut = env.step(action)
            total += reward
            over = done or cut
        returns.append(total)
        lengths.append(env.steps)
    return float(np.mean(returns)), float(np.mean(lengths))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    random.seed(options.seed)
    np.random.seed(options.seed)
    torch.manual_seed(options.seed)
    env = Grid(options.seed)
    online, target = QNet(), QNet()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=2e-3, fused=True)
    replay: collections.deque = collections.deque(maxlen=300)
    returns: list[float] = []
    state, total, begun, updates, best = env.reset(), 0.0, time.time(), 0, -float("inf")
    with (options.out / "episodes.csv").open("w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["global_step", "episode", "return", "length", "epsilon", "loss", "mean_q", "SPS"])
        loss_seen = q_seen = 0.0
        for step in range(options.steps):
            epsilon = max(0.05, 1.0 - step / 200)
            if random.random() < epsilon:
                action = random.randrange(4)
            else:
                with torch.no_grad():
                    action = online(torch.from_numpy(state)).argmax().item()
            following, reward, done, cut = env.step(action)
            replay.append((state, action, reward, following, done))
            state, total = following, total + reward
            if done or cut:
                returns.append(total)
                speed = int(step / (time.time() - begun + 1e-9))
                log.writerow([step, len(returns), total, env.steps, epsilon, loss_seen, q_seen, speed])
                state, total = env.reset(), 0.0
            if step >= 64 and step % 4 == 0:
                rows = random.sample(range(len(replay)), 32)
                s, a, r, n, d = (np.array(part) for part in zip(*(replay[i] for i in rows), strict=True))
                with torch.no_grad():
                    best_next = target(torch.from_numpy(n)).max(1).values
                    goal = torch.from_numpy(r).float() + 0.97 * best_next * (1 - torch.from_numpy(d).float())
                chosen = online(torch.from_numpy(s)).gather(1, torch.from_numpy(a)[:, None]).squeeze(1)
                loss = F.smooth_l1_loss(chosen, goal)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(online.parameters(), 10.0)
                optimizer.step()
                updates += 1
                loss_seen, q_seen = loss.item(), chosen.mean().item()
                if updates % 10 == 0:
                    for kept, new in zip(target.parameters(), online.parameters(), strict=True):
                        kept.data.copy_(0.9 * new.data + 0.1 * kept.data)
            if (step + 1) % 100 == 0:
                mean, length = evaluate(online, options.seed + 100)
                recent = float(np.mean(returns[-5:]))
                shown = f"return {recent:.3f} evaluation {mean:.3f} length {length:.1f}"
                print(f"step {step + 1} {shown} epsilon {epsilon:.2f}")
                if mean > best:
                    best = mean
                    torch.save(
                        {"online": online.state_dict(), "step": step + 1, "return": mean},
                        options.out / "best.pt",
                    )
    np.savez(options.out / "returns.npz", returns=np.array(returns), steps=np.array([options.steps]))
    torch.save(
        {"online": online.state_dict(), "target": target.state_dict(), "updates": updates},
        options.out / "last.pt",
    )


if __name__ == "__main__":
    main()
