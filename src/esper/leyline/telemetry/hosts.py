"""What happens in one env: epochs of its host, decisions, what its seeds are worth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCompleted:
    """One host trained and validated for one epoch. Losses are means per sample; accuracies are fractions."""

    train_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
    train_samples: int
    val_samples: int
    seeds: Mapping[str, str]
    total_params: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LastAction:
    """The decision taken in one env after an epoch, and what came of it.

    `heads` maps the name of an action head to the chosen choice; `masked` says which heads had more
    than one valid choice taken away by the mask; `reward_components` sum to `reward`.
    """

    operation: str
    target_slot: str | None
    heads: Mapping[str, str]
    success: bool
    reward: float
    normalised_reward: float
    reward_components: Mapping[str, float]
    value: float
    log_prob: float
    op_confidence: float
    masked: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlateauDetected:
    """A host's best validation accuracy has not risen for `epochs` epochs; once per plateau."""

    best_accuracy: float
    epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovementDetected:
    """A host's best validation accuracy rose by `gain` after a plateau of `plateau_epochs` epochs."""

    best_accuracy: float
    gain: float
    plateau_epochs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualComputed:
    """Validation accuracy by configuration (slots enabled, joined by `+`; `none` for none), and what
    each slot adds.

    `interactions` maps two slots, joined by `+`, to what having both adds over having each.
    """

    accuracies: Mapping[str, float]
    contributions: Mapping[str, float]
    interactions: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualUnavailable:
    """No contribution could be computed for an env in this epoch."""

    reason: str
    slots: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapleyComputed:
    """Each slot's Shapley share of the accuracy that the seeds of an env added, at its episode's end.

    The shares sum to `full_accuracy - bare_accuracy`. `standard_errors` are of a sampled estimate, and
    empty for exact values.
    """

    method: Literal["exact", "sampled"]
    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    full_accuracy: float
    bare_accuracy: float
    configurations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGradientNorms:
    """Mean 2-norms, over the batches measured in an epoch, of the host's gradient and of each seed's by
    slot.
    """

    host: float
    seeds: Mapping[str, float]
    batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernorRollback:
    """The watchdog put an earlier state of a host back."""

    reason: str
    loss: float
    restored_epoch: int
    consecutive: int
    pruned_slots: tuple[str, ...]
