"""A rule-based decision-maker: the baseline that a learnt policy must beat."""

from __future__ import annotations

from collections.abc import Mapping

from esper.leyline import (
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    DEFAULT_MIN_FOSSILIZE_CONTRIBUTION,
    TEMPO_EPOCHS,
    TEMPO_NAMES,
    FactoredAction,
    LifecycleOp,
    SeedStage,
    SeedStateReport,
    SlotConfig,
    Topology,
    TrainingSignals,
)
from esper.tamiyo.masks import ActionMasks

TRAINING_EPOCHS = 2
HOLDING_PATIENCE = 3
FIRST_EPOCH = 2
TEMPO = TEMPO_NAMES.index("fast")
# Epochs from germination to a seed that can be kept: germinated, training, blending, and one held for its
# contribution to be known.
EPOCHS_TO_KEEP = 1 + TRAINING_EPOCHS + TEMPO_EPOCHS[TEMPO] + 1
STRONGEST: Mapping[Topology, str] = {"cnn": "conv_heavy", "transformer": "mlp"}


class HeuristicPolicy:
    """Grows the strongest blueprint from the last slot to the first, keeps what helps, prunes what hurts.

    Grows nothing that the episode is too short to keep.
    """

    def __init__(self, slot_config: SlotConfig, *, blueprint: str | None = None) -> None:
        self._slots = slot_config
        blueprint = blueprint or STRONGEST[slot_config.topology]
        self._blueprint = BLUEPRINT_NAMES.index(blueprint)

    def decide(
        self, signals: TrainingSignals, reports: Mapping[str, SeedStateReport], masks: ActionMasks
    ) -> FactoredAction:
        """One environment's decision; always legal under `masks`."""
        for report in reports.values():
            op = self._judge(report)
            slot = self._slots.index_of(report.slot_id)
            if op is not LifecycleOp.WAIT and masks.heads["op"][op] and masks.slot_by_op[op][slot]:
                return self._action(op, slot)
        in_time = FIRST_EPOCH <= signals.epoch <= signals.max_epochs - EPOCHS_TO_KEEP
        if in_time and masks.heads["op"][LifecycleOp.GERMINATE]:
            legal = masks.slot_by_op[LifecycleOp.GERMINATE]
            return self._action(LifecycleOp.GERMINATE, max(slot for slot, ok in enumerate(legal) if ok))
        return self._action(LifecycleOp.WAIT, 0)

    def _judge(self, report: SeedStateReport) -> LifecycleOp:
        contribution = report.contribution
        if report.stage is SeedStage.TRAINING and report.epochs_in_stage >= TRAINING_EPOCHS:
            return LifecycleOp.ADVANCE
        if report.stage is SeedStage.HOLDING and contribution is not None:
            if contribution >= DEFAULT_MIN_FOSSILIZE_CONTRIBUTION:
                return LifecycleOp.FOSSILIZE
            if report.epochs_in_stage >= HOLDING_PATIENCE:
                return LifecycleOp.PRUNE
        return LifecycleOp.WAIT

    def _action(self, op: LifecycleOp, slot: int) -> FactoredAction:
        return FactoredAction(
            slot=slot,
            blueprint=self._blueprint,
            style=0,
            tempo=TEMPO,
            alpha_target=len(ALPHA_TARGET_VALUES) - 1,
            alpha_speed=0,
            alpha_curve=0,
            op=op,
        )
