"""The contribution family: a seed is worth the validation accuracy that goes away without it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from esper.leyline import CONTRIBUTING_STAGES, LifecycleOp
from esper.simic.rewards.attribution import attributed
from esper.simic.rewards.config import RewardConfig, RewardMode
from esper.simic.rewards.escrow import escrow_accounts, escrow_payment
from esper.simic.rewards.inputs import (
    RewardBreakdown,
    RewardInputs,
    op_cost,
    potential_change,
    rent,
    shock,
    summed,
)

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
