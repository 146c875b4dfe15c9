"""A small recurrent PPO in the usual manner, to compare the trainer's agent with.

Encoder, LSTM, actor and critic; orthogonal weights, Adam with epsilon 1e-5, a rate that falls to zero,
minibatches of whole envs, advantages normalised in each, a clipped value loss, rewards divided by the running
standard deviation of discounted returns (Schulman et al., 2017; Huang et al., 2022, "The 37 implementation
details of PPO").
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn
from torch.distributions import Categorical

from benchmarks.toys import CHOICES, ENVS, WIDTH, Episode, Toy

DISCOUNT, LAMBDA, CLIP = 0.99, 0.95, 0.2
EPOCHS, MINIBATCHES = 4, 4


class Network(nn.Module):
    """Actor and critic on one LSTM."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.encoder = _orthogonal(nn.Linear(WIDTH, hidden), math.sqrt(2))
        self.lstm = nn.LSTM(hidden, hidden)
        self.actor = _orthogonal(nn.Linear(hidden, CHOICES), 0.01)
        self.critic = _orthogonal(nn.Linear(hidden, 1), 1.0)
        for name, parameter in self.lstm.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(parameter, 1.0)
            else:
                nn.init.zeros_(parameter)

    def forward(self, observations: Tensor) -> tuple[Categorical, Tensor]:
        """Choices and values [steps, envs] of whole episodes."""
        outputs, _ = self.lstm(torch.tanh(self.encoder(observations)))
        return Categorical(logits=self.actor(outputs)), self.critic(outputs).squeeze(-1)


class Reference:
    """Plays and learns; `rounds` is how many it will."""

    def __init__(self, seed: int, rounds: int, *, hidden: int = 64, rate: float = 2.5e-3) -> None:
        torch.manual_seed(seed)
        self.network = Network(hidden)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=rate, eps=1e-5)
        self.rate, self.rounds, self.done = rate, rounds, 0
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def choose(self, episode: Episode) -> Tensor:
        with torch.no_grad():
            return self.network(episode.observations)[0].logits.argmax(-1)

    def play(self, toy: Toy, generator: Generator) -> None:
        episode = toy(ENVS, generator)
        with torch.no_grad():
            policy, values = self.network(episode.observations)
            made = policy.sample()
            log_probs = policy.log_prob(made)
        rewards = self._scaled(episode.rewards(made))
        advantages = torch.zeros_like(rewards)
        running, following = torch.zeros(ENVS), torch.zeros(ENVS)
        for step in reversed(range(len(rewards))):
            error = rewards[step] + DISCOUNT * following - values[step]
            running = error + DISCOUNT * LAMBDA * running
            advantages[step], following = running, values[step]
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * (1.0 - self.done / self.rounds)
        self.done += 1
        for _ in range(EPOCHS):
            for envs in torch.randperm(ENVS).chunk(MINIBATCHES):
                self._learn(
                    episode.observations[:, envs],
                    made[:, envs],
                    log_probs[:, envs],
                    advantages[:, envs],
                    values[:, envs],
                )

    def _learn(
        self, observations: Tensor, made: Tensor, log_probs: Tensor, advantages: Tensor, values: Tensor
    ) -> None:
        returns = advantages + values
        policy, predicted = self.network(observations)
        ratio = (policy.log_prob(made) - log_probs).exp()
        scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        gain = torch.minimum(ratio * scaled, ratio.clamp(1 - CLIP, 1 + CLIP) * scaled)
        near = values + (predicted - values).clamp(-CLIP, CLIP)
        worse = torch.maximum((predicted - returns).square(), (near - returns).square())
        loss = 0.5 * 0.5 * worse.mean() - gain.mean() - 0.01 * policy.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
        self.optimizer.step()

    def _scaled(self, rewards: Tensor) -> Tensor:
        returns = torch.zeros(ENVS)
        for row in rewards:
            returns = returns * DISCOUNT + row
            for value in returns.tolist():
                self.count += 1
                shift = value - self.mean
                self.mean += shift / self.count
                self.squares += shift * (value - self.mean)
        return rewards / math.sqrt(self.squares / self.count + 1e-8)


def _orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
