"""Rewards of one env-step: for what seeds contribute, in every mode, or for a falling loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from esper.leyline import CONTRIBUTING_STAGES, LifecycleOp, SeedStage, SeedStateReport
from esper.simic.rewards.inputs import (
    RewardBreakdown,
    RewardConfig,
    RewardInputs,
    RewardMode,
    op_cost,
    potential_change,
    rent,
    shock,
    summed,
)


def attributed(report: SeedStateReport, val_accuracy: float) -> float:
    """The part of a seed's contribution that counts: no more than accuracy has risen since it germinated.

    A host adapts to its seed, so that losing the seed costs far more accuracy than having it has gained.
    """
    if report.contribution is None:
        return 0.0
    gained = max(0.0, val_accuracy - report.accuracy_at_germination)
    return min(report.contribution, gained)


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


Part = Callable[[RewardInputs, RewardConfig], float]


def compute_reward(inputs: RewardInputs, config: RewardConfig) -> RewardBreakdown:
    """The reward of one env-step under the configured mode."""
    parts = {name: part(inputs, config) for name, part in PARTS[config.mode].items()}
    accounts = escrow_accounts(inputs, config) if config.mode is RewardMode.ESCROW else {}
    return summed(parts, accounts)


def contribution(inputs: RewardInputs, config: RewardConfig) -> float:
    """What all seeds that take part in the output add to the accuracy of this epoch."""
    return config.contribution_weight * math.fsum(
        attributed(report, inputs.signals.val_accuracy)
        for report in inputs.before.values()
        if report.stage in CONTRIBUTING_STAGES
    )


def progress(inputs: RewardInputs, config: RewardConfig) -> float:
    """How much the accuracy rose since the epoch before."""
    return config.progress_weight * inputs.signals.accuracy_delta


def terminal(inputs: RewardInputs, config: RewardConfig) -> float:
    """At the episode's end: the accuracy that the host reached."""
    return config.terminal_weight * inputs.signals.val_accuracy if inputs.is_last else 0.0


def fossilize(inputs: RewardInputs, config: RewardConfig) -> float:
    """For making a seed permanent: by how much its contribution exceeds the floor; negative below."""
    if inputs.op is not LifecycleOp.FOSSILIZE or not inputs.success or inputs.target is None:
        return 0.0
    value = attributed(inputs.target, inputs.signals.val_accuracy)
    return config.fossilize_weight * (value - config.min_fossilize_contribution)


def prune(inputs: RewardInputs, config: RewardConfig) -> float:
    """For taking a seed out: the negative of what it contributed."""
    if inputs.op is not LifecycleOp.PRUNE or not inputs.success or inputs.target is None:
        return 0.0
    return -config.prune_weight * attributed(inputs.target, inputs.signals.val_accuracy)


def scaffold(inputs: RewardInputs, config: RewardConfig) -> float:
    """Credit for seeds that helped one which became permanent now."""
    return inputs.scaffold_credit


PARTS: Mapping[RewardMode, Mapping[str, Part]] = {
    RewardMode.SHAPED: {
        "contribution": contribution,
        "potential": potential_change,
        "fossilize": fossilize,
        "prune": prune,
        "scaffold": scaffold,
        "rent": rent,
        "alpha_shock": shock,
        "op_cost": op_cost,
        "terminal": terminal,
    },
    # A prune pays back what was advanced; another price on it would count the same loss twice.
    RewardMode.ESCROW: {
        "escrow": escrow_payment,
        "potential": potential_change,
        "fossilize": fossilize,
        "scaffold": scaffold,
        "rent": rent,
        "alpha_shock": shock,
        "op_cost": op_cost,
        "terminal": terminal,
    },
    RewardMode.SIMPLIFIED: {"contribution": contribution, "op_cost": op_cost, "terminal": terminal},
    RewardMode.BASIC: {"progress": progress, "rent": rent},
    RewardMode.MINIMAL: {"op_cost": op_cost, "terminal": terminal},
    RewardMode.SPARSE: {"terminal": terminal},
}


def compute_loss_reward(inputs: RewardInputs, config: RewardConfig) -> RewardBreakdown:
    """The reward of one env-step from the change of validation loss (nats per sample), clipped."""
    limit = config.max_loss_delta
    delta = inputs.signals.loss_delta
    # A loss that is no number is the worst change there is.
    fallen = -limit if math.isnan(delta) else max(-limit, min(limit, -delta))
    return summed(
        {
            "loss": config.loss_weight * fallen,
            "rent": rent(inputs, config),
            "alpha_shock": shock(inputs, config),
            "op_cost": op_cost(inputs, config),
        }
    )
