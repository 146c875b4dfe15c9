"""What was decided for one env at one step, and what that was worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esper.leyline.rollout import SlotAction


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen for one env: the action, the choices of the heads that its operation reads, and what
    the policy thinks of the state and of every head's choice, in the order of HEAD_NAMES.
    """

    action: SlotAction
    choices: Mapping[str, str]
    value: float
    log_probs: Sequence[float]
    confidences: Sequence[float]


@dataclass(frozen=True, slots=True)
class StepReward:
    """What one env-step is worth: the raw reward, the parts that sum to it, and what the policy is told."""

    raw: float
    components: Mapping[str, float]
    normalised: float
