"""The agent's settings, with their one default each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOConfig:
    """Settings of recurrent PPO (Schulman et al., 2017, arXiv:1707.06347).

    `minibatches` is the number of groups that the envs of a round are shuffled into; each makes one step.
    """

    hidden_size: int = 128
    learning_rate: float = 1e-3
    clip: float = 0.2
    value_coef: float = 0.5
    entropy_coef: float = 0.05
    discount: float = 0.99
    gae_lambda: float = 0.95
    epochs: int = 4
    minibatches: int = 4
    target_kl: float = 0.05
    max_grad_norm: float = 0.5

    def __post_init__(self) -> None:
        if self.hidden_size < 2 or self.epochs < 1 or self.minibatches < 1:
            raise ValueError("hidden_size must be at least 2, epochs and minibatches at least 1")
        if not 0.0 < self.discount <= 1.0 or not 0.0 <= self.gae_lambda <= 1.0:
            raise ValueError("discount must be in (0, 1] and gae_lambda in [0, 1]")
