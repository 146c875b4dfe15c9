"""Small models trained in lockstep, one per environment, and a policy that picks their learning rates."""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


class Host(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, observation: torch.Tensor) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=self.net(observation))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    x = torch.randn(96, 8)
    y = (x[:, :3] + 0.5 * x[:, 3:6]).argmax(1)
    policy = Policy()
    agent = torch.optim.Adam(policy.parameters(), lr=1e-2, fused=True)
    rates = [0.01, 0.1, 0.5]
    with (options.out / "events.jsonl").open("w") as log:

        def emit(kind: str, env: int | None, **data: object) -> None:
            log.write(json.dumps({"kind": kind, "time": time.time(), "env_id": env, "data": data}) + "\n")

        for round_index in range(options.rounds):
            hosts = [Host() for _ in range(options.envs)]
            optimizers = [torch.optim.SGD(host.parameters(), lr=0.1, momentum=0.9) for host in hosts]
            observation = torch.zeros(options.envs, 2)
            log_probabilities, rewards = [], []
            for step in range(options.steps):
                choice = policy(observation)
                action = choice.sample()
                log_probabilities.append(choice.log_prob(action))
                losses = []
                for env, (host, optimizer) in enumerate(zip(hosts, optimizers, strict=True)):
                    optimizer.param_groups[0]["lr"] = rates[int(action[env])]
                    optimizer.zero_grad()
                    loss = F.cross_entropy(host(x), y)
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.detach())
                values = torch.stack(losses)
                rewards.append(observation[:, 0] - values)
                observation = torch.stack([values, torch.full_like(values, step / options.steps)], 1)
                for env, value in enumerate(values.tolist()):
                    emit("env_step", env, round=round_index, step=step, loss=value, action=int(action[env]))
            reward = torch.stack(rewards)
            agent.zero_grad()
            advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
            (-(torch.stack(log_probabilities) * advantage).mean()).backward()
            agent.step()
            emit("update", None, round=round_index, reward=reward.mean().item())


if __name__ == "__main__":
    main()
