"""One env's host: train and validate a batch, with results left on the device; end an epoch; act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from esper.kasmina import ModelSnapshot
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
from esper.leyline.rollout import ActionOutcome, Configuration, HostObservation, SlotAction
from esper.leyline.slots import SeedStateReport
from esper.leyline.task import TaskSpec
from esper.leyline.telemetry import EpochCompleted, GovernorRollback, HostGradientNorms
from esper.tolaria.data import TrainingData
from esper.tolaria.governor import Healthy
from esper.tolaria.gradients import measure_gradients
from esper.tolaria.models import (
    backward,
    count_correct,
    create_optimizer,
    mean_loss,
    reset_momentum,
    step_optimizers,
    summed_loss,
)
from esper.tolaria.runtime import on_stream
from esper.tolaria.setup import HostState, Precision

if TYPE_CHECKING:
    from esper.tolaria.host_parts import HostParts


def begin_training(env_state: HostState, epoch: int) -> None:
    """Make a host ready for an epoch of training."""
    env_state.epoch = epoch
    env_state.model.train()
    env_state.train_totals.zero_()


def begin_validation(env_state: HostState, configurations: Sequence[Configuration]) -> None:
    """Make a host ready for a validation pass over the configurations that are to be compared."""
    env_state.model.eval()
    env_state.val_totals.zero_()
    env_state.configurations = configurations


def process_train_batch(
    env_state: HostState,
    inputs: Tensor,
    targets: Tensor,
    *,
    precision: Precision,
    watched: bool,
    parts: HostParts | None = None,
) -> None:
    """Forward, backward and optimizer steps; adds to the env's totals, if `watched` to its gradient norms.

    With `parts` all that is of this rank's part of the batch, and the loss a share of the whole one's.
    """
    optimizers, examples = env_state.optimizers, len(targets)
    if parts is not None:
        inputs, targets = parts.own(inputs), parts.own(targets)
    with on_stream(env_state.stream, inputs, targets):
        env_state.host_optimizer.zero_grad(set_to_none=True)
        for optimizer in env_state.seed_optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        with precision.autocast(env_state.device):
            logits = env_state.model(inputs)
        loss = mean_loss(logits, targets)
        share = loss if parts is None else loss * (len(targets) / examples)
        backward(share, optimizers, env_state.scaler)
        if watched:
            measure_gradients(env_state)
        step_optimizers(optimizers, env_state.scaler)
        correct = count_correct(logits, targets)
        env_state.train_totals[0].add_(loss.detach().double(), alpha=targets.numel())
        env_state.train_totals[1].add_(correct)


def process_val_batch(
    env_state: HostState,
    inputs: Tensor,
    targets: Tensor,
    *,
    precision: Precision,
    parts: HostParts | None = None,
) -> None:
    """Loss and correct answers of the host as it is; adds to the env's totals."""
    if parts is not None:
        inputs, targets = parts.own(inputs), parts.own(targets)
    with on_stream(env_state.stream, inputs, targets), _evaluating(parts):
        with precision.autocast(env_state.device):
            logits = env_state.model(inputs)
        loss = summed_loss(logits, targets)
        correct = count_correct(logits, targets)
        env_state.val_totals[0].add_(loss)
        env_state.val_totals[1].add_(correct)


def process_fused_val_batch(
    env_state: HostState,
    inputs: Tensor,
    targets: Tensor,
    *,
    precision: Precision,
    parts: HostParts | None = None,
) -> None:
    """Loss of the host as it is, and correct answers of all its configurations, in one pass."""
    configurations = env_state.configurations
    if parts is not None:
        inputs, targets = parts.own(inputs), parts.own(targets)
    with on_stream(env_state.stream, inputs, targets), _evaluating(parts):
        with precision.autocast(env_state.device):
            logits = env_state.model.fused_forward(inputs, configurations)
        loss = summed_loss(logits[0], targets)
        correct = count_correct(logits, targets)
        env_state.val_totals[0].add_(loss)
        env_state.val_totals[1 : 1 + len(configurations)].add_(correct)


def _evaluating(parts: HostParts | None) -> AbstractContextManager[None]:
    return torch.inference_mode() if parts is None else parts.evaluating()


def watch_host(env_state: HostState, metrics: EpochCompleted) -> Healthy[ModelSnapshot] | None:
    """Keep a healthy host; put the last healthy one back in place of one that broke, and give what
    was put back.
    """
    model = env_state.model
    verdict = env_state.governor.judge(metrics.val_loss, metrics.val_accuracy)
    healthy = env_state.governor.healthy
    if verdict is None:
        env_state.governor.keep(model.snapshot, env_state.epoch, metrics.val_loss, metrics.val_accuracy)
        return None
    if not verdict.rollback or healthy is None:
        return None
    pruned = model.restore(healthy.state, f"rollback: {verdict.symptom}")
    for slot_id in pruned:
        env_state.seed_optimizers.pop(slot_id, None)
    for optimizer in env_state.optimizers:
        reset_momentum(optimizer)
    env_state.governor.rolled_back()
    env_state.rollbacks += 1
    env_state.events.append(
        GovernorRollback(
            reason=verdict.symptom,
            loss=verdict.loss,
            restored_epoch=healthy.epoch,
            consecutive=verdict.consecutive,
            pruned_slots=pruned,
        )
    )
    return healthy


@dataclass(frozen=True, slots=True)
class MeasuredEpoch:
    """A host as it was validated: its metrics, and reports of its seeds by slot."""

    metrics: EpochCompleted
    reports: Mapping[str, SeedStateReport]


def measured_accuracies(val_totals: Sequence[float], data: TrainingData) -> list[float]:
    """Accuracy in every configuration, fractions."""
    return [correct / data.val_targets for correct in val_totals[1:]]


def end_epoch(
    env_state: HostState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    contributions: Mapping[str, float],
    gradients: HostGradientNorms | None,
    *,
    data: TrainingData,
) -> HostObservation:
    """Measure one host, put it back if it broke, and observe what is there then; totals as `HostState`
    has them, contributions as the client measured them.
    """
    measured = measure_epoch(env_state, train_totals, val_totals, contributions, data=data)
    restored = watch_host(env_state, measured.metrics)
    return observe_host(env_state, measured, restored, gradients)


def measure_epoch(
    env_state: HostState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    contributions: Mapping[str, float],
    *,
    data: TrainingData,
) -> MeasuredEpoch:
    """Note in the model what the epoch was worth to its seeds, and tell all in numbers."""
    model = env_state.model
    val_accuracy = val_totals[1] / data.val_targets
    model.record_epoch(val_accuracy, contributions)
    reports = model.slot_reports()
    metrics = EpochCompleted(
        train_loss=train_totals[0] / data.train_targets,
        train_accuracy=train_totals[1] / data.train_targets,
        val_loss=val_totals[0] / data.val_targets,
        val_accuracy=val_accuracy,
        train_samples=data.train_targets,
        val_samples=data.val_targets,
        seeds={slot_id: report.stage.name for slot_id, report in reports.items()},
        total_params=model.total_parameters,
    )
    return MeasuredEpoch(metrics, reports)


def observe_host(
    env_state: HostState,
    measured: MeasuredEpoch,
    restored: Healthy[ModelSnapshot] | None,
    gradients: HostGradientNorms | None,
) -> HostObservation:
    """Return the state of the host: of the one that was ``restored``, where one that broke was put back."""
    metrics = measured.metrics
    train_loss, train_accuracy = metrics.train_loss, metrics.train_accuracy
    val_loss, val_accuracy = metrics.val_loss, metrics.val_accuracy
    if restored is not None:
        # The policy is to see the host that it has now, not the one that broke.
        train_loss = val_loss = restored.loss
        train_accuracy = val_accuracy = restored.accuracy
    env_state.val_accuracy = val_accuracy
    env_state.best_accuracy = max(env_state.best_accuracy, val_accuracy)
    before = None if env_state.epoch == 1 else env_state.signal_tracker.peek()
    signals = env_state.signal_tracker.update(
        epoch=env_state.epoch,
        train_loss=train_loss,
        train_accuracy=train_accuracy,
        val_loss=val_loss,
        val_accuracy=val_accuracy,
    )
    return HostObservation(
        metrics=metrics,
        measured=measured.reports,
        before=before,
        signals=signals,
        reports=env_state.model.slot_reports(),
        rolled_back=restored is not None,
        gradients=gradients,
        events=env_state.take_events(),
    )


def execute_actions(
    env_states: Sequence[HostState],
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
    env_state: HostState, chosen: SlotAction, *, task_spec: TaskSpec, parts: HostParts | None = None
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
        return model.slot(slot_id).retarget(
            ALPHA_TARGET_VALUES[action.alpha_target],
            steps=ALPHA_SPEED_STEPS[action.alpha_speed],
            curve=curve.curve,
            steepness=curve.steepness,
        )
    if chosen.op is OP_PRUNE:
        return model.slot(slot_id).prune(
            "policy",
            steps=ALPHA_SPEED_STEPS[action.alpha_speed],
            curve=curve.curve,
            steepness=curve.steepness,
        )
    if chosen.op is OP_FOSSILIZE:
        return model.slot(slot_id).fossilize()
    if chosen.op is OP_ADVANCE:
        return advance_active_seed(model, slot_id)
    raise RuntimeError(f"no way to execute {chosen.op.name}")


def end_env_step(env_state: HostState) -> None:
    """Let every slot tick once; seeds that are gone need no optimizer."""
    env_state.model.step_epoch()
    live = env_state.model.live_slots()
    for slot_id in [slot_id for slot_id in env_state.seed_optimizers if slot_id not in live]:
        del env_state.seed_optimizers[slot_id]
