"""Do with a host's slots what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from esper.kasmina.lifecycle import advance_active_seed
from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_STEPS,
    ALPHA_TARGET_VALUES,
    OP_ADVANCE,
    OP_FOSSILIZE,
    OP_GERMINATE,
    OP_PRUNE,
    OP_SET_ALPHA_TARGET,
)
from esper.leyline.rollout import ActionOutcome, SlotAction
from esper.leyline.task import TaskSpec
from esper.tolaria.host_state import HostEnvState
from esper.tolaria.optimizers import create_optimizer

if TYPE_CHECKING:
    from esper.tolaria.host_parts import HostParts


def execute_actions(
    env_states: Sequence[HostEnvState],
    actions: Sequence[SlotAction],
    *,
    task_spec: TaskSpec,
    parts: HostParts | None = None,
) -> list[ActionOutcome]:
    """Act, env by env; every slot ticks once."""
    outcomes = []
    for env_state, action in zip(env_states, actions, strict=True):
        success = execute_action(env_state, action, task_spec=task_spec, parts=parts)
        end_env_step(env_state)
        outcomes.append(ActionOutcome(success, env_state.model.slot_reports(), env_state.take_events()))
    return outcomes


def execute_action(
    env_state: HostEnvState, chosen: SlotAction, *, task_spec: TaskSpec, parts: HostParts | None = None
) -> bool:
    """Do to a slot what was chosen; whether that had an effect."""
    model, slot_id, action = env_state.model, chosen.slot_id, chosen.action
    if slot_id is None:
        return True
    curve = ALPHA_CURVE_CHOICES[action.alpha_curve]
    if chosen.op is OP_GERMINATE:
        grown = model.germinate_by_action(slot_id, action, env_state.val_accuracy)
        if grown and parts is not None:
            parts.spread_seed(model, slot_id)
        if grown:
            env_state.seed_optimizers[slot_id] = create_optimizer(
                model.seed_parameters(slot_id), task_spec, learning_rate=task_spec.seed_lr
            )
        return grown
    if chosen.op is OP_SET_ALPHA_TARGET:
        return model.set_alpha_target(
            slot_id,
            ALPHA_TARGET_VALUES[action.alpha_target],
            steps=ALPHA_SPEED_STEPS[action.alpha_speed],
            curve=curve.curve,
            steepness=curve.steepness,
        )
    if chosen.op is OP_PRUNE:
        return model.prune(
            slot_id,
            "policy",
            steps=ALPHA_SPEED_STEPS[action.alpha_speed],
            curve=curve.curve,
            steepness=curve.steepness,
        )
    if chosen.op is OP_FOSSILIZE:
        return model.fossilize(slot_id)
    if chosen.op is OP_ADVANCE:
        return advance_active_seed(model, slot_id)
    raise RuntimeError(f"no way to execute {chosen.op.name}")


def end_env_step(env_state: HostEnvState) -> None:
    """Let every slot tick once; seeds that are gone need no optimizer."""
    env_state.model.step_epoch()
    live = env_state.model.live_slots()
    for slot_id in [slot_id for slot_id in env_state.seed_optimizers if slot_id not in live]:
        del env_state.seed_optimizers[slot_id]
