"""Credit in hindsight for a seed that helped another one, which then became permanent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from esper.leyline import SeedStage, SeedStateReport
from esper.simic.rewards.contribution import attributed
from esper.simic.rewards.inputs import RewardConfig


def compute_scaffold_hindsight_credit(
    boost: float, improvement: float, delay: int, config: RewardConfig
) -> float:
    """`weight * min(boost, improvement) * discount**delay`, at most `max_scaffold_credit`.

    `boost` is the mean interaction of helper and helped, `improvement` what the helped seed contributes
    when it becomes permanent (both fractions of accuracy), `delay` the epochs since the helper last took
    part. Nothing unless both are above 0.
    """
    shared = min(boost, improvement)
    if shared <= 0.0:
        return 0.0
    credit = config.scaffold_weight * shared * config.scaffold_discount**delay
    return min(credit, config.max_scaffold_credit)


@dataclass(frozen=True, slots=True)
class ScaffoldCredit:
    """What one helper gets for one seed it helped."""

    slot_id: str
    seed_id: str
    beneficiary: str
    boost: float
    delay: int
    credit: float


@dataclass(slots=True)
class _Help:
    """How one seed helped a younger one: interactions measured so far, and the last epoch of them."""

    slot_id: str
    total: float = 0.0
    epochs: int = 0
    last_epoch: int = 0


@dataclass(slots=True)
class ScaffoldLedger:
    """Who helped whom in one env. The older seed of two is the helper; in one epoch, the first slot's."""

    _helps: dict[str, dict[str, _Help]] = field(default_factory=dict)

    def record(
        self,
        epoch: int,
        interactions: Mapping[tuple[str, str], float],
        reports: Mapping[str, SeedStateReport],
    ) -> None:
        """Take in an epoch's interactions of two slots each, in the order of slots."""
        for pair, interaction in interactions.items():
            helper, helped = sorted((reports[slot] for slot in pair), key=lambda seed: -seed.epochs_total)
            helpers = self._helps.setdefault(helped.seed_id, {})
            found = helpers.setdefault(helper.seed_id, _Help(helper.slot_id))
            found.total += interaction
            found.epochs += 1
            found.last_epoch = epoch

    def settle(
        self,
        epoch: int,
        before: Mapping[str, SeedStateReport],
        after: Mapping[str, SeedStateReport],
        val_accuracy: float,
        config: RewardConfig,
    ) -> tuple[ScaffoldCredit, ...]:
        """Credits, above 0, for the helpers of every seed that became permanent between two reports.

        A pair is credited once: when the helped seed becomes permanent its helpers are forgotten.
        """
        credits = []
        for slot_id, report in after.items():
            known = before.get(slot_id)
            was_permanent = known is not None and known.stage is SeedStage.FOSSILIZED
            if report.stage is not SeedStage.FOSSILIZED or was_permanent:
                continue
            improvement = attributed(report, val_accuracy)
            for seed_id, found in self._helps.pop(report.seed_id, {}).items():
                boost, delay = found.total / found.epochs, epoch - found.last_epoch
                credit = compute_scaffold_hindsight_credit(boost, improvement, delay, config)
                if credit > 0.0:
                    credits.append(
                        ScaffoldCredit(found.slot_id, seed_id, report.seed_id, boost, delay, credit)
                    )
        return tuple(credits)
