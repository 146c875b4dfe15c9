"""Small problems with a known best policy: a bandit, a contextual bandit, a late reward, a memory.

A learner is an object with `play(toy, generator)`, which plays one round and learns from it, and `choose(toy,
generator)`, which plays one round with its most likely choices. Each problem has six choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor

CHOICES = 6
ENVS = 8
CONTEXTS = 16
WIDTH = CONTEXTS + 1
"""Length of an observation: a one-hot vector, and a number that says where in the episode an env stands."""


@dataclass(frozen=True, slots=True)
class Episode:
    """The observations [steps, envs, WIDTH] of a round, and its rewards [steps, envs] for choices."""

    observations: Tensor
    rewards: Callable[[Tensor], Tensor]


Toy = Callable[[int, Generator], Episode]
"""Makes an episode for a number of envs."""


class Learner(Protocol):
    """An agent with its optimizer."""

    def play(self, toy: Toy, generator: Generator) -> None:
        """Play one round and learn from it."""

    def choose(self, episode: Episode) -> Tensor:
        """The most likely choices [steps, envs] in an episode."""


def bandit(envs: int, generator: Generator) -> Episode:
    """One choice pays 1 with probability 0.8, the others with probability 0.4."""
    luck = torch.rand(16, envs, generator=generator)
    chances = torch.full((CHOICES,), 0.4)
    chances[4] = 0.8
    return Episode(_at(torch.zeros(16, envs, dtype=torch.long)), lambda made: (luck < chances[made]).float())


def contextual(envs: int, generator: Generator) -> Episode:
    """Every step has one of 16 contexts, drawn anew; each has one choice that pays."""
    contexts = torch.randint(CONTEXTS, (16, envs), generator=generator)
    return Episode(_at(contexts), lambda made: (made == answer(contexts)).float())


def late(envs: int, generator: Generator) -> Episode:
    """As `contextual` with four contexts, but everything is paid after the last of eight steps."""
    contexts = torch.randint(4, (8, envs), generator=generator)

    def rewards(made: Tensor) -> Tensor:
        paid = torch.zeros(made.shape)
        paid[-1] = (made == answer(contexts)).float().sum(dim=0)
        return paid

    return Episode(_at(contexts), rewards)


def memory(envs: int, generator: Generator) -> Episode:
    """The first step shows one of four cues, the last pays for its choice; those between show nothing."""
    cues = torch.randint(4, (envs,), generator=generator)
    shown = torch.full((6, envs), CONTEXTS - 1)
    shown[0] = cues

    def rewards(made: Tensor) -> Tensor:
        paid = torch.zeros(made.shape)
        paid[-1] = (made[-1] == answer(cues)).float()
        return paid

    return Episode(_at(shown), rewards)


TOYS: dict[str, Toy] = {"bandit": bandit, "contextual": contextual, "late": late, "memory": memory}


def answer(contexts: Tensor) -> Tensor:
    """The choice that pays in a context."""
    return (5 * contexts + contexts // 6) % CHOICES


def right_contexts(learner: Learner) -> int:
    """In how many of the 16 contexts the most likely choice is the one that pays."""
    contexts = torch.arange(CONTEXTS)[None]
    made = learner.choose(Episode(_at(contexts), lambda choices: torch.zeros(choices.shape)))
    return int((made == answer(contexts)).sum())


def score(learner: Learner, toy: Toy, *, seed: int) -> float:
    """Mean reward of an episode played with the most likely choices, over 64 envs."""
    episode = toy(64, Generator().manual_seed(seed))
    return float(episode.rewards(learner.choose(episode)).sum(dim=0).mean())


def _at(contexts: Tensor) -> Tensor:
    steps, envs = contexts.shape
    place = torch.linspace(0.0, 1.0, steps)[:, None, None].expand(steps, envs, 1)
    return torch.cat([torch.nn.functional.one_hot(contexts, CONTEXTS).float(), place], dim=-1)
