"""The policy's answer for all environments, on the device and on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esper.leyline import HEAD_NAMES, FactoredAction
from esper.tamiyo import Hidden

HEADS = len(HEAD_NAMES)


@dataclass(frozen=True, slots=True)
class HostActions:
    """Plain numbers, by environment; inner lists are in the order of HEAD_NAMES."""

    actions: list[FactoredAction]
    log_probs: list[list[float]]
    confidences: list[list[float]]
    values: list[float]

    @classmethod
    def certain(cls, actions: Sequence[FactoredAction]) -> HostActions:
        """Actions that nothing else could have been, of a policy that values no state."""
        ones = [1.0] * HEADS
        return cls(
            actions=list(actions),
            log_probs=[[0.0] * HEADS for _ in actions],
            confidences=[ones for _ in actions],
            values=[0.0] * len(actions),
        )


@dataclass(frozen=True, slots=True)
class ActionBatch:
    """On the device: `actions`, `log_probs`, `confidences` [environments, heads], `values` [environments].

    `confidences` are probabilities of the choices; `hidden` is the recurrent state after the step.
    """

    actions: Tensor
    log_probs: Tensor
    confidences: Tensor
    values: Tensor
    hidden: Hidden

    def to_host(self) -> HostActions:
        """Everything but the recurrent state, in one transfer."""
        # Indices are small integers, exact as floats.
        packed = torch.cat(
            [self.actions.to(self.log_probs), self.log_probs, self.confidences, self.values[:, None]], dim=1
        )
        rows = packed.tolist()
        return HostActions(
            actions=[FactoredAction(*(int(index) for index in row[:HEADS])) for row in rows],
            log_probs=[row[HEADS : 2 * HEADS] for row in rows],
            confidences=[row[2 * HEADS : 3 * HEADS] for row in rows],
            values=[row[3 * HEADS] for row in rows],
        )
