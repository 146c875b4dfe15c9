"""Which choices are legal: per head, and for the slot head per operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esper.leyline import (
    BLUEPRINT_NAMES,
    HEAD_NAMES,
    LIVE_STAGES,
    MIN_PRUNE_AGE,
    PRUNABLE_STAGES,
    TOPOLOGY_BLUEPRINTS,
    LifecycleOp,
    SeedStage,
    SeedStateReport,
    SlotConfig,
    head_sizes,
)


@dataclass(frozen=True, slots=True)
class SlotState:
    """State that decides which operations a slot allows."""

    stage: SeedStage
    epochs_total: int = 0
    epochs_in_stage: int = 0
    alpha_done: bool = True
    leaving: bool = False
    contribution_known: bool = False

    def allows(self, op: LifecycleOp) -> bool:
        """Return True if `op` can have an effect on this slot now."""
        match op:
            case LifecycleOp.WAIT:
                return True
            case LifecycleOp.GERMINATE:
                return self.stage is SeedStage.DORMANT
            case LifecycleOp.SET_ALPHA_TARGET:
                return self.stage is SeedStage.HOLDING
            case LifecycleOp.PRUNE:
                return (
                    self.stage in PRUNABLE_STAGES and self.epochs_total >= MIN_PRUNE_AGE and not self.leaving
                )
            case LifecycleOp.FOSSILIZE:
                return self.stage is SeedStage.HOLDING and self.contribution_known
            case LifecycleOp.ADVANCE:
                return self._can_advance()

    def _can_advance(self) -> bool:
        if self.stage is SeedStage.BLENDING:
            return self.alpha_done and not self.leaving
        return self.stage in (SeedStage.GERMINATED, SeedStage.TRAINING) and self.epochs_in_stage >= 1


@dataclass(frozen=True, slots=True)
class ActionMasks:
    """One environment's legal choices; `slot_by_op[op][slot]` for the slot head, `heads` for the others."""

    heads: Mapping[str, tuple[bool, ...]]
    slot_by_op: tuple[tuple[bool, ...], ...]

    def masked_heads(self) -> dict[str, bool]:
        """By head: whether a choice was taken away (for the slot head: under some legal operation)."""
        masked = {name: not all(self.heads[name]) for name in HEAD_NAMES if name != "slot"}
        legal_rows = [row for op, row in enumerate(self.slot_by_op) if self.heads["op"][op]]
        return {"slot": any(not all(row) for row in legal_rows), **masked}


def build_slot_states(
    reports: Mapping[str, SeedStateReport], slot_config: SlotConfig
) -> dict[str, SlotState]:
    """The state of every slot, dormant ones included."""
    return {slot_id: _slot_state(reports.get(slot_id)) for slot_id in slot_config.slot_ids}


def compute_action_masks(
    slot_states: Mapping[str, SlotState],
    *,
    slot_config: SlotConfig,
    enabled_slots: Sequence[str] | None = None,
    max_seeds: int | None = None,
) -> ActionMasks:
    """Legal choices of one environment; at most `max_seeds` seeds live at a time, by default one per slot."""
    enabled = slot_config.slot_ids if enabled_slots is None else enabled_slots
    live = sum(state.stage in LIVE_STAGES for state in slot_states.values())
    room = max_seeds is None or live < max_seeds
    rows: list[tuple[bool, ...]] = []
    ops: list[bool] = []
    for op in LifecycleOp:
        row = tuple(
            slot_id in enabled
            and slot_states[slot_id].allows(op)
            and (room or op is not LifecycleOp.GERMINATE)
            for slot_id in slot_config.slot_ids
        )
        ops.append(op is LifecycleOp.WAIT or any(row))
        # Waiting needs no slot, and an operation without a legal one is never chosen; a row without any legal
        # choice would have no distribution.
        rows.append(row if any(row) and op is not LifecycleOp.WAIT else (True,) * slot_config.num_slots)
    sizes = head_sizes(slot_config.num_slots)
    heads = {name: (True,) * sizes[name] for name in HEAD_NAMES if name not in ("slot", "op")}
    fitting = TOPOLOGY_BLUEPRINTS[slot_config.topology]
    heads["blueprint"] = tuple(name in fitting for name in BLUEPRINT_NAMES)
    return ActionMasks(heads={**heads, "op": tuple(ops)}, slot_by_op=tuple(rows))


def stack_action_masks(masks: Sequence[ActionMasks], device: torch.device | str = "cpu") -> dict[str, Tensor]:
    """Masks of all environments by head: [environments, choices], "slot" [environments, ops, slots].

    One transfer: the heads are views of one tensor.
    """
    names = [name for name in HEAD_NAMES if name != "slot"]
    rows = [
        [flag for name in names for flag in mask.heads[name]]
        + [flag for row in mask.slot_by_op for flag in row]
        for mask in masks
    ]
    packed = torch.tensor(rows, dtype=torch.bool).to(device)
    widths = [len(masks[0].heads[name]) for name in names]
    num_ops, num_slots = len(masks[0].slot_by_op), len(masks[0].slot_by_op[0])
    *heads, slot = packed.split([*widths, num_ops * num_slots], dim=1)
    by_name = dict(zip(names, heads, strict=True))
    return {"slot": slot.unflatten(1, (num_ops, num_slots)), **by_name}


def _slot_state(report: SeedStateReport | None) -> SlotState:
    if report is None:
        return SlotState(SeedStage.DORMANT)
    return SlotState(
        stage=report.stage,
        epochs_total=report.epochs_total,
        epochs_in_stage=report.epochs_in_stage,
        alpha_done=report.alpha_steps_done >= report.alpha_steps_total,
        leaving=report.leaving,
        contribution_known=report.contribution is not None,
    )
