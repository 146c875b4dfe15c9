"""PPO on an environment of our own: a cart pushed along a line to a goal, several at a time."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn


class Line:
    """``count`` carts; reset and step as in a vectorised gym environment."""

    def __init__(self, count: int, generator: torch.Generator) -> None:
        self.count, self.generator = count, generator

    def reset(self) -> torch.Tensor:
        self.place = torch.rand(self.count, generator=self.generator) * 2 - 1
        self.speed = torch.zeros(self.count)
        return torch.stack([self.place, self.speed], 1)

    def step(self, push: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.speed = 0.8 * self.speed + 0.1 * (push - 1).float()
        self.place = self.place + self.speed
        return torch.stack([self.place, self.speed], 1), -self.place.abs()


class Actor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, x: torch.Tensor) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=self.net(x))


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x).squeeze(-1)


def advantages(
    rewards: torch.Tensor, values: torch.Tensor, discount: float = 0.95, smooth: float = 0.9
) -> torch.Tensor:
    found, running = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        running = rewards[t] + discount * values[t + 1] - values[t] + discount * smooth * running
        found[t] = running
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--carts", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    env = Line(options.carts, torch.Generator().manual_seed(options.seed + 1))
    actor, critic = Actor(), Critic()
    improve = torch.optim.Adam(actor.parameters(), lr=3e-3, fused=True)
    evaluate = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
    with (options.out / "events.jsonl").open("w") as log:
        for iteration in range(options.iterations):
            seen, chosen, logs, rewards, values = [], [], [], [], []
            state = env.reset()
            with torch.no_grad():
                for _ in range(16):
                    policy = actor(state)
                    action = policy.sample()
                    seen.append(state)
                    chosen.append(action)
                    logs.append(policy.log_prob(action))
                    values.append(critic(state))
                    state, reward = env.step(action)
                    rewards.append(reward)
                values.append(critic(state))
            reward = torch.stack(rewards)
            gain = advantages(reward, torch.stack(values))
            target = gain + torch.stack(values[:-1])
            x, a, old = torch.stack(seen), torch.stack(chosen), torch.stack(logs)
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            for _ in range(2):
                policy = actor(x)
                ratio = (policy.log_prob(a) - old).exp()
                surrogate = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                improve.zero_grad()
                (-surrogate - 0.01 * policy.entropy().mean()).backward()
                improve.step()
                evaluate.zero_grad()
                (critic(x) - target).square().mean().backward()
                evaluate.step()
            log.write(
                json.dumps({"type": "iteration", "n": iteration, "reward": reward.mean().item()}) + "\n"
            )


if __name__ == "__main__":
    main()
