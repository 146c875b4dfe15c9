"""The life of a seed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedGerminated:
    """A module started to grow in a slot."""

    seed_id: str
    blueprint: str
    params: int
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedStageChanged:
    """A seed moved between two stages of its life."""

    seed_id: str
    blueprint: str
    from_stage: str
    to_stage: str
    epochs_in_stage: int
    alpha: float
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedGateEvaluated:
    """A gate between two stages was asked. `failed` names the checks that did not hold."""

    seed_id: str
    gate: str
    passed: bool
    score: float
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedFossilized:
    """A seed became a permanent part of its host. Accuracies are fractions."""

    seed_id: str
    blueprint: str
    params: int
    epochs: int
    accuracy_gain: float
    contribution: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPruned:
    """A seed was removed; `initiator` is the policy, the governor or a schedule."""

    seed_id: str
    blueprint: str
    epochs: int
    reason: str
    initiator: str
    accuracy_gain: float
    contribution: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaffoldCredited:
    """A seed that helped another got credit when the other became permanent; the event's slot is the
    helper's.

    `boost` is the mean interaction of the two while both took part (fraction of accuracy), `delay` the
    epochs since that was last measured.
    """

    seed_id: str
    beneficiary: str
    boost: float
    delay: int
    credit: float
