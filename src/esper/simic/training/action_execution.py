"""From a sampled action to what is done with a slot."""

from __future__ import annotations

from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_NAMES,
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CAUSAL_HEADS,
    HEAD_NAMES,
    OP_WAIT,
    STYLE_NAMES,
    TEMPO_NAMES,
    FactoredAction,
    LifecycleOp,
)
from esper.kasmina.lifecycle import resolve_target_slot
from esper.simic.training.parallel_env_state import ParallelEnvState


def _parse_sampled_action(
    env_state: ParallelEnvState,
    action: FactoredAction,
    *,
    slot_config,
    slots,
) -> tuple[LifecycleOp, str | None, dict[str, str]]:
    """The operation, the slot that it acts on (None for a wait), and the choices of the heads it
    reads.
    """
    op = action.lifecycle_op
    slot_id, enabled = resolve_target_slot(action.slot, slot_config, slots)
    if op is not OP_WAIT and not enabled:
        raise RuntimeError(
            f"env {env_state.env_idx}: the policy chose {op.name} in {slot_id}, not enabled"
        )
    names = {
        "slot": slot_id,
        "blueprint": BLUEPRINT_NAMES[action.blueprint],
        "style": STYLE_NAMES[action.style],
        "tempo": TEMPO_NAMES[action.tempo],
        "alpha_target": str(ALPHA_TARGET_VALUES[action.alpha_target]),
        "alpha_speed": ALPHA_SPEED_NAMES[action.alpha_speed],
        "alpha_curve": ALPHA_CURVE_CHOICES[action.alpha_curve].name,
        "op": op.name,
    }
    choices = {name: names[name] for name in HEAD_NAMES if name in CAUSAL_HEADS[op]}
    return op, (None if op is OP_WAIT else slot_id), choices
