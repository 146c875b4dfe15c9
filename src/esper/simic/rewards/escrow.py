"""Contributions paid in advance, and paid back by seeds that don't stay."""

from __future__ import annotations

import math
from collections.abc import Mapping

from esper.leyline import CONTRIBUTING_STAGES, SeedStage, SeedStateReport
from esper.simic.rewards.attribution import attributed
from esper.simic.rewards.config import RewardConfig
from esper.simic.rewards.inputs import RewardInputs


def escrow_accounts(inputs: RewardInputs, config: RewardConfig) -> dict[str, float]:
    """What is advanced after this step, by seed: `escrow_weight` times what it surely contributes.

    A seed that is gone has nothing, nor has one that is not permanent when the episode ends.
    """
    return {
        report.seed_id: config.escrow_weight * _sure(report, inputs.signals.val_accuracy)
        for report in inputs.after.values()
        if report.stage is SeedStage.FOSSILIZED
        or (report.stage in CONTRIBUTING_STAGES and not inputs.is_last)
    }


def escrow_payment(inputs: RewardInputs, config: RewardConfig) -> float:
    """The change of all accounts in this step.

    Payments of an episode telescope: they sum to the last accounts, which only permanent seeds have.
    """
    return _balance(escrow_accounts(inputs, config)) - _balance(inputs.escrow)


def _sure(report: SeedStateReport, val_accuracy: float) -> float:
    """The smaller of the last two measured contributions, so that one lucky epoch advances nothing; not
    below 0.
    """
    if report.previous_contribution is None:
        return 0.0
    return max(0.0, min(attributed(report, val_accuracy), report.previous_contribution))


def _balance(accounts: Mapping[str, float]) -> float:
    return math.fsum(accounts.values())
