"""The factored distribution over actions: sampling, log-probabilities, entropies, relevant heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

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
