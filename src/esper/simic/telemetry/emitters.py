"""Emit the training loop's events, and the means and sums in them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from esper.leyline import CAUSAL_HEADS, HEAD_INDEX, HEAD_NAMES, LifecycleOp
from esper.leyline import telemetry as events
from esper.leyline.rollout import ActionOutcome, HostResult
from esper.leyline.telemetry import Payload, Severity, TelemetryEvent
from esper.nissa import TelemetryHub
from esper.simic.agent import PPOUpdateResult
from esper.simic.agent.rollout import Decision, StepReward
from esper.simic.attribution import CounterfactualMatrix, ShapleyValues
from esper.simic.rewards import ScaffoldCredit
from esper.simic.telemetry import (
    EXPLODING_NORM,
    VANISHING_NORM,
    LayerGradientStats,
    TelemetryConfig,
    TelemetryLevel,
)
from esper.tamiyo import ActionMasks


def aggregate_ticker_metrics(
    hosts: Sequence[HostResult], rewards: Sequence[Sequence[float]]
) -> dict[str, float]:
    """Means and sums over the envs of a round, with each env's rewards: what a one-line display needs."""
    return {
        "mean_accuracy": statistics.fmean(host.final_accuracy for host in hosts),
        "best_accuracy": max(host.best_accuracy for host in hosts),
        "mean_return": statistics.fmean(math.fsum(of_env) for of_env in rewards),
        "env_steps": sum(len(of_env) for of_env in rewards),
        "germinated": sum(host.germinated for host in hosts),
        "fossilized": sum(host.fossilized for host in hosts),
        "pruned": sum(host.pruned for host in hosts),
        "rollbacks": sum(host.rollbacks for host in hosts),
    }


def aggregate_ppo_metrics(updates: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """One dict from the metrics of a round's updates: of each name the mean over the updates that have it, as
    a skipped one has none.
    """
    names = dict.fromkeys(name for metrics in updates for name in metrics)
    return {name: statistics.fmean(metrics[name] for metrics in updates if name in metrics) for name in names}


DEGRADATION_SHARE = 0.1


class EnvContext(Protocol):
    """Where an env stands: its index, the round, and the epoch of it."""

    env_idx: int
    round_idx: int
    epoch: int


def emit_with_env_context(
    hub: TelemetryHub,
    env_state: EnvContext,
    data: Payload,
    *,
    slot: str | None = None,
    severity: Severity = "info",
) -> None:
    """Emit a payload as an event of an env, at the round and epoch where the env stands."""
    hub.emit(
        TelemetryEvent(
            data=data,
            round=env_state.round_idx,
            epoch=env_state.epoch,
            env=env_state.env_idx,
            slot=slot,
            severity=severity,
        )
    )


def _emit(hub: TelemetryHub, round_idx: int, data: Payload, severity: Severity = "info") -> None:
    hub.emit(TelemetryEvent(data=data, round=round_idx, severity=severity))


def emit_batch_completed(
    hub: TelemetryHub,
    round_idx: int,
    ticker: Mapping[str, float],
    hosts: Sequence[HostResult],
    rolling_accuracy: float,
) -> None:
    """Emit what a round of all envs came to."""
    data = events.BatchCompleted(
        env_accuracies=tuple(host.final_accuracy for host in hosts),
        mean_accuracy=ticker["mean_accuracy"],
        rolling_accuracy=rolling_accuracy,
        mean_return=ticker["mean_return"],
        env_steps=int(ticker["env_steps"]),
        seeds_germinated=int(ticker["germinated"]),
        seeds_fossilized=int(ticker["fossilized"]),
        seeds_pruned=int(ticker["pruned"]),
    )
    _emit(hub, round_idx, data)


def emit_last_action(
    hub: TelemetryHub,
    env_state: EnvContext,
    decision: Decision,
    reward: StepReward,
    outcome: ActionOutcome,
    masks: ActionMasks,
) -> None:
    """Emit the decision of one env-step; the log-probability is that of the heads which the operation
    reads.
    """
    action = decision.action
    relevant = CAUSAL_HEADS[action.op]
    data = events.LastAction(
        operation=action.op.name,
        target_slot=action.slot_id,
        heads=dict(decision.choices),
        success=outcome.success,
        reward=reward.raw,
        normalised_reward=reward.normalised,
        reward_components=dict(reward.components),
        value=decision.value,
        log_prob=sum(decision.log_probs[HEAD_INDEX[name]] for name in HEAD_NAMES if name in relevant),
        op_confidence=decision.confidences[HEAD_INDEX["op"]],
        masked=dict(masks.masked_heads()),
    )
    emit_with_env_context(hub, env_state, data, slot=action.slot_id)


def compute_grad_norm_surrogate(stats: Sequence[LayerGradientStats]) -> float | None:
    """The policy's gradient norm as its last minibatch left it, which is after clipping; None without
    gradients.
    """
    if not stats:
        return None
    return math.sqrt(sum(layer.norm**2 for layer in stats))


def aggregate_layer_gradient_health(stats: Sequence[LayerGradientStats]) -> events.LayerGradientHealth | None:
    """Spread of the layers' gradient norms, and how many of them vanish, explode or are no number."""
    if not stats:
        return None
    norms = [layer.norm for layer in stats]
    finite = [norm for norm in norms if math.isfinite(norm)]
    return events.LayerGradientHealth(
        layers=len(norms),
        norm_min=min(finite, default=math.nan),
        norm_mean=statistics.fmean(finite) if finite else math.nan,
        norm_max=max(finite, default=math.nan),
        vanishing=sum(norm < VANISHING_NORM for norm in finite),
        exploding=sum(norm > EXPLODING_NORM for norm in finite),
        nonfinite=len(norms) - len(finite),
    )


def emit_ppo_update_event(
    hub: TelemetryHub,
    round_idx: int,
    update: PPOUpdateResult,
    *,
    entropy_coef: float,
    grad_norm_surrogate: float | None,
    duration_s: float,
) -> None:
    """Emit what a policy update did."""
    data = events.PPOUpdateCompleted(
        skipped=update.skipped,
        stopped_early=update.stopped_early,
        epochs=update.epochs,
        metrics=dict(update.metrics),
        entropy_coef=entropy_coef,
        grad_norm_surrogate=grad_norm_surrogate,
        duration_s=duration_s,
    )
    _emit(hub, round_idx, data, severity="warning" if update.skipped else "info")


def emit_action_distribution(
    hub: TelemetryHub, round_idx: int, counts: Counter[str], successes: Counter[str]
) -> None:
    """Emit how often each operation was chosen in a round, and how often it succeeded."""
    names = [op.name for op in LifecycleOp]
    data = events.ActionDistribution(
        counts={name: counts[name] for name in names},
        successes={name: successes[name] for name in names},
    )
    _emit(hub, round_idx, data)


def emit_cf_unavailable(hub: TelemetryHub, env_state: EnvContext, reason: str, slots: Sequence[str]) -> None:
    """Emit that an env's seeds got no contribution this epoch."""
    emit_with_env_context(hub, env_state, events.CounterfactualUnavailable(reason=reason, slots=tuple(slots)))


def emit_throughput(
    hub: TelemetryHub,
    round_idx: int,
    *,
    env_steps: int,
    images: int,
    duration_s: float,
    phase_s: Mapping[str, float],
) -> None:
    """Emit the work done in a round and the time it took."""
    data = events.Throughput(
        env_steps=env_steps,
        images=images,
        env_steps_per_s=env_steps / duration_s,
        images_per_s=images / duration_s,
        duration_s=duration_s,
        phase_s=dict(phase_s),
    )
    _emit(hub, round_idx, data)


def emit_reward_summary(
    hub: TelemetryHub, round_idx: int, rewards: Sequence[float], components: Mapping[str, Sequence[float]]
) -> None:
    """Emit mean and spread of a round's raw rewards; a component's mean is over all env-steps."""
    data = events.RewardSummary(
        mean=statistics.fmean(rewards),
        std=statistics.pstdev(rewards),
        minimum=min(rewards),
        maximum=max(rewards),
        components={name: math.fsum(values) / len(rewards) for name, values in components.items()},
    )
    _emit(hub, round_idx, data)


def emit_mask_hit_rates(hub: TelemetryHub, round_idx: int, hits: Counter[str], decisions: int) -> None:
    """Emit, by action head, in how many decisions the mask took a choice away."""
    data = events.MaskHitRates(
        hits={name: hits[name] for name in HEAD_NAMES},
        total=dict.fromkeys(HEAD_NAMES, decisions),
    )
    _emit(hub, round_idx, data)


def emit_counterfactual(hub: TelemetryHub, env_state: EnvContext, matrix: CounterfactualMatrix) -> None:
    """Emit what validation without some seeds said of each."""
    data = events.CounterfactualComputed(
        accuracies=matrix.by_name(),
        contributions=matrix.contributions(),
        interactions={"+".join(pair): value for pair, value in matrix.interactions().items()},
    )
    emit_with_env_context(hub, env_state, data)


def emit_shapley(
    hub: TelemetryHub, env_state: EnvContext, matrix: CounterfactualMatrix, shares: ShapleyValues
) -> None:
    """Emit the seeds' shares of what they added together."""
    data = events.ShapleyComputed(
        method=shares.method,
        values=dict(shares.values),
        standard_errors=dict(shares.standard_errors),
        full_accuracy=matrix.full,
        bare_accuracy=matrix.bare,
        configurations=len(matrix.accuracies),
    )
    emit_with_env_context(hub, env_state, data)


def emit_scaffold_credits(
    hub: TelemetryHub, env_state: EnvContext, credits: Sequence[ScaffoldCredit]
) -> None:
    """Emit which seeds got credit for the help that they gave."""
    for credit in credits:
        data = events.ScaffoldCredited(
            seed_id=credit.seed_id,
            beneficiary=credit.beneficiary,
            boost=credit.boost,
            delay=credit.delay,
            credit=credit.credit,
        )
        emit_with_env_context(hub, env_state, data, slot=credit.slot_id)


def check_performance_degradation(
    hub: TelemetryHub, round_idx: int, accuracy: float, rolling_accuracy: float
) -> bool:
    """Emit a warning where a round's accuracy fell behind the rolling average; whether it did."""
    drop = (rolling_accuracy - accuracy) / rolling_accuracy if rolling_accuracy > 0 else 0.0
    if drop <= DEGRADATION_SHARE:
        return False
    data = events.PerformanceDegradation(
        accuracy=accuracy,
        rolling_accuracy=rolling_accuracy,
        drop=drop,
        threshold=DEGRADATION_SHARE,
    )
    _emit(hub, round_idx, data, severity="warning")
    return True


def apply_slot_telemetry(
    hub: TelemetryHub,
    telemetry: TelemetryConfig,
    env_state: EnvContext,
    slot_id: str,
    payload: Payload,
) -> None:
    """Emit what happened in a slot, if the level in force wants it; what gates were asked is a detail."""
    is_gate = isinstance(payload, events.SeedGateEvaluated)
    if telemetry.wants(TelemetryLevel.DEBUG if is_gate else TelemetryLevel.NORMAL):
        emit_with_env_context(hub, env_state, payload, slot=slot_id)
