"""The policy network, an LSTM with one head per factor of the action, and its distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from esper.leyline import CAUSAL_HEADS, HEAD_INDEX, HEAD_NAMES, LifecycleOp, head_sizes

MASKED_LOGIT = -1e9
"""Its probability is exactly zero in float32, and unlike an infinity it keeps entropies finite."""

_SMALLEST_UNIFORM = 1e-10


@dataclass(frozen=True, slots=True)
class HeadEvaluation:
    """Of given actions, all [..., heads] in the order of HEAD_NAMES; `relevant` is 1 if it mattered."""

    log_probs: Tensor
    entropies: Tensor
    relevant: Tensor


def draw_noise(generators: Sequence[Generator], num_slots: int) -> Tensor:
    """Gumbel noise [environments, choices of all heads], one row from each environment's generator."""
    width = sum(head_sizes(num_slots).values())
    uniform = torch.stack([torch.rand(width, generator=generator) for generator in generators])
    return -torch.log(-torch.log(uniform.clamp_min(_SMALLEST_UNIFORM)))


def choose_actions(logits: Mapping[str, Tensor], masks: Mapping[str, Tensor], noise: Tensor | None) -> Tensor:
    """Actions [environments, heads]: the most likely, or with Gumbel noise a sample (Gumbel-max trick).

    The operation comes first, because it decides which row of slots counts. Logits [environments, choices],
    slot logits [environments, ops, slots].
    """
    rows = _noise_by_head(noise, logits)
    chosen: dict[str, Tensor] = {"op": _choose(logits["op"], masks["op"], rows["op"])}
    slot_logits, slot_mask = _row(logits["slot"], chosen["op"]), _row(masks["slot"], chosen["op"])
    chosen["slot"] = _choose(slot_logits, slot_mask, rows["slot"])
    for name in HEAD_NAMES:
        if name not in chosen:
            chosen[name] = _choose(logits[name], masks[name], rows[name])
    return torch.stack([chosen[name] for name in HEAD_NAMES], dim=-1)


def evaluate_actions(
    logits: Mapping[str, Tensor], masks: Mapping[str, Tensor], actions: Tensor
) -> HeadEvaluation:
    """Log-probabilities and entropies of actions [..., heads], any leading dimensions."""
    op = actions[..., HEAD_INDEX["op"]]
    log_probs, entropies = [], []
    for index, name in enumerate(HEAD_NAMES):
        head_logits, mask = logits[name], masks[name]
        if name == "slot":
            head_logits, mask = _row(head_logits, op), _row(mask, op)
        log_p = torch.log_softmax(head_logits.masked_fill(~mask, MASKED_LOGIT), dim=-1)
        log_probs.append(log_p.gather(-1, actions[..., index, None]).squeeze(-1))
        entropies.append(-(log_p.exp() * log_p).sum(dim=-1))
    relevance = relevance_table(actions.device)[op]
    return HeadEvaluation(torch.stack(log_probs, dim=-1), torch.stack(entropies, dim=-1), relevance)


def relevance_table(device: torch.device | str = "cpu") -> Tensor:
    """[operations, heads] of 0 and 1: whether a head had an effect on what the operation did."""
    rows = [[float(name in CAUSAL_HEADS[op]) for name in HEAD_NAMES] for op in LifecycleOp]
    return torch.tensor(rows, device=device)


def _choose(logits: Tensor, mask: Tensor, noise: Tensor | None) -> Tensor:
    scores = logits if noise is None else logits + noise
    return scores.masked_fill(~mask, MASKED_LOGIT).argmax(dim=-1)


def _row(table: Tensor, op: Tensor) -> Tensor:
    index = op[..., None, None].expand(*op.shape, 1, table.shape[-1])
    return table.gather(-2, index).squeeze(-2)


def _noise_by_head(noise: Tensor | None, logits: Mapping[str, Tensor]) -> dict[str, Tensor | None]:
    if noise is None:
        return dict.fromkeys(HEAD_NAMES)
    widths = [logits[name].shape[-1] for name in HEAD_NAMES]
    return dict(zip(HEAD_NAMES, noise.split(widths, dim=-1), strict=True))


SMALL_GAIN = 0.01
FORGET_BIAS = 1.0


def initialise_policy(policy: nn.Module, generator: Generator) -> None:
    """Uniform weights scaled by fan-in; heads near zero; the LSTM remembers at first.

    Not orthogonal, as is common: a matrix factorisation's bits differ between processors.
    """
    for name, layer in policy.named_modules():
        if isinstance(layer, nn.Linear):
            gain = SMALL_GAIN if name == "heads" else 1.0
            bound = gain * math.sqrt(3.0 / layer.in_features)
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.LSTM):
            _initialise_lstm(layer, generator)
        elif isinstance(layer, nn.LayerNorm):
            layer.reset_parameters()
        elif next(layer.parameters(recurse=False), None) is not None:
            raise TypeError(f"no initialisation rule for {type(layer).__name__} at {name!r}")


def _initialise_lstm(layer: nn.LSTM, generator: Generator) -> None:
    bound = 1.0 / math.sqrt(layer.hidden_size)
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        else:
            nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                # Gates are packed as input, forget, cell, output.
                nn.init.constant_(parameter.detach()[layer.hidden_size : 2 * layer.hidden_size], FORGET_BIAS)


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
