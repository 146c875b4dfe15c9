"""What the packages expect of each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class SlottedHostProtocol(Protocol):
    """A network cut into segments with a slot after each segment but the last.

    `run_segment(0, images)` gives the features that enter the first slot; the last segment gives the logits.
    """

    slot_ids: tuple[str, ...]
    slot_channels: Mapping[str, int]

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Features [batch, channels, height, width] of a segment, or logits [batch, classes] of the last."""
        ...


class PolicyProtocol(Protocol):
    """A decision-maker that sees all environments at once."""

    def initial_hidden(self, num_envs: int) -> Any:
        """The recurrent state before the first step."""
        ...

    def get_action(
        self, features: Tensor, masks: Mapping[str, Tensor], hidden: Any, noise: Tensor | None = None
    ) -> Any:
        """Actions, log-probabilities and values of all environments; without noise the most likely ones."""
        ...


class RewardProtocol(Protocol):
    """Turns what happened in one env-step into a number."""

    def compute(self, inputs: Any) -> tuple[float, Mapping[str, float]]:
        """The reward and its named components, which sum to it."""
        ...
