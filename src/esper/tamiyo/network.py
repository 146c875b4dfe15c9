"""The policy network: an LSTM with one head per factor of the action, and a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from esper.leyline import HEAD_INDEX, HEAD_NAMES, LifecycleOp, head_sizes
from esper.tamiyo.initialise import initialise_policy

PRUNE_PRIOR = -2.0
"""Logit of pruning before anything is learnt: at even odds, hardly a seed would live to be judged."""


class Hidden(NamedTuple):
    """The LSTM's state: `h` and `c`, both [1, environments, hidden]."""

    h: Tensor
    c: Tensor


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """`logits` by head [environments, steps, choices], "slot" [environments, steps, ops, slots]; values."""

    logits: Mapping[str, Tensor]
    values: Tensor
    hidden: Hidden


class FactoredRecurrentActorCritic(nn.Module):
    """Encoder, LSTM, heads. The slot head has one row of logits per operation: what to do decides where."""

    def __init__(self, feature_size: int, num_slots: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.num_slots = num_slots
        self.encoder = nn.Linear(feature_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        self.lstm = nn.LSTM(hidden_size, hidden_size, batch_first=True)
        sizes = head_sizes(num_slots)
        sizes["slot"] = len(LifecycleOp) * num_slots
        self.choice_sizes = [sizes[name] for name in HEAD_NAMES]
        self.heads = nn.Linear(hidden_size, sum(self.choice_sizes))
        self.value_hidden = nn.Linear(hidden_size, hidden_size // 2)
        self.value = nn.Linear(hidden_size // 2, 1)

    def initial_hidden(self, num_envs: int) -> Hidden:
        """The state at the start of an episode."""
        zeros = self.encoder.weight.new_zeros(1, num_envs, self.hidden_size)
        return Hidden(zeros, zeros.clone())

    def forward(self, features: Tensor, hidden: Hidden) -> PolicyOutput:
        """Features [environments, steps, features] to logits and values [environments, steps]."""
        encoded = F.relu(self.norm(self.encoder(features)))
        outputs, (h, c) = self.lstm(encoded, tuple(hidden))
        logits = dict(zip(HEAD_NAMES, self.heads(outputs).split(self.choice_sizes, dim=-1), strict=True))
        logits["slot"] = logits["slot"].unflatten(-1, (len(LifecycleOp), self.num_slots))
        values = self.value(F.relu(self.value_hidden(outputs))).squeeze(-1)
        return PolicyOutput(logits, values, Hidden(h, c))


def create_policy(
    feature_size: int, num_slots: int, hidden_size: int, generator: Generator
) -> FactoredRecurrentActorCritic:
    """A policy initialised from `generator`: nearly uniform over every head's choices, but slow to prune."""
    with torch.device("meta"):
        policy = FactoredRecurrentActorCritic(feature_size, num_slots, hidden_size)
    policy.to_empty(device=generator.device)
    initialise_policy(policy, generator)
    with torch.no_grad():
        op_bias = policy.heads.bias.split(policy.choice_sizes)[HEAD_INDEX["op"]]
        op_bias[LifecycleOp.PRUNE] = PRUNE_PRIOR
    return policy
