"""What the packages expect of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Generator, Tensor


@runtime_checkable
class SlottedHostProtocol(Protocol):
    """A network cut into segments, with a slot after each but the last.

    `run_segment(0, inputs)` gives the features that enter the first slot; the last segment gives the logits.
    Features are [batch, channels, height, width], or [batch, tokens, channels] where the host's
    `SlotConfig` says "transformer".
    """

    slot_ids: tuple[str, ...]
    slot_channels: Mapping[str, int]

    def run_segment(self, index: int, x: Tensor) -> Tensor:
        """Features of a segment, or of the last one logits [batch, classes] or [batch, tokens, classes]."""
        ...


@runtime_checkable
class PolicyProtocol(Protocol):
    """A decision-maker that sees all environments at once and draws from their generators only."""

    def initial_hidden(self, num_envs: int) -> Any:
        """The recurrent state at the start of a round."""
        ...

    def draw_noise(self, generators: Sequence[Generator]) -> Tensor:
        """Noise for one `get_action`, a row from each environment's generator."""
        ...

    def get_action(
        self, features: Tensor, masks: Mapping[str, Tensor], hidden: Any, noise: Tensor | None = None
    ) -> Any:
        """Actions, log-probabilities and values of all environments; without noise the most likely ones."""
        ...

    def bootstrap_values(self, features: Tensor, hidden: Any) -> Tensor:
        """Values [environments] of the states after the last step."""
        ...


@runtime_checkable
class RewardProtocol(Protocol):
    """Turns what happened in one env-step into a number with the parts that sum to it."""

    def __call__(self, inputs: Any, config: Any) -> Any:
        """The reward of `inputs` under `config`."""
        ...
