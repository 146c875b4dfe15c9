"""What is known of the envs at a decision, and the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from esper.leyline import DEFAULT_GOVERNOR_DEATH_PENALTY, SeedStateReport, TrainingSignals
from esper.leyline.rollout import HostObservation
from esper.simic.agent import HostActions, PPOAgent
from esper.simic.telemetry import detect_progress
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import EnvObservation, RoundState, RunSetup
from esper.tamiyo import (
    ActionMasks,
    HeuristicPolicy,
    batch_obs_to_features,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)


def observe_env(env_state: ParallelEnvState, host: HostObservation, *, setup: RunSetup) -> EnvObservation:
    """What an epoch of one env means: turns, anomalies, what a rollback costs, and the choices there are."""
    if env_state.matrix is not None:
        env_state.scaffolds.record(env_state.epoch, env_state.matrix.interactions(), host.measured)
    return EnvObservation(
        host=host,
        turn=detect_progress(host.before, host.signals),
        anomalies=setup.reporter.detector.check_host(host.metrics.train_loss, host.metrics.val_loss),
        penalty=DEFAULT_GOVERNOR_DEATH_PENALTY if host.rolled_back else 0.0,
        masks=legal_actions(host.reports, setup=setup),
    )


def legal_actions(reports: Mapping[str, SeedStateReport], *, setup: RunSetup) -> ActionMasks:
    """Which choices an env has."""
    return compute_action_masks(
        build_slot_states(reports, setup.subject.slot_config),
        slot_config=setup.subject.slot_config,
        enabled_slots=setup.subject.slots,
        max_seeds=setup.config.max_seeds,
    )


def batch_signals_to_features(
    signals: Sequence[TrainingSignals],
    reports: Sequence[Mapping[str, SeedStateReport]],
    *,
    setup: RunSetup,
) -> Tensor:
    """Observation features [envs, features] of all envs."""
    return batch_obs_to_features(
        signals,
        reports,
        setup.subject.slot_config,
        host_params=setup.subject.host_params,
        device=setup.placement.policy_device,
    )


def choose_actions(
    round_state: RoundState,
    observations: Sequence[EnvObservation],
    *,
    policy: PPOAgent | HeuristicPolicy,
    setup: RunSetup,
) -> HostActions:
    """One batched policy call and one transfer of all heads; or what the rules say."""
    hosts = [seen.host for seen in observations]
    if isinstance(policy, HeuristicPolicy):
        return HostActions.certain(
            [policy.decide(seen.host.signals, seen.host.reports, seen.masks) for seen in observations]
        )
    features = batch_signals_to_features(
        [host.signals for host in hosts], [host.reports for host in hosts], setup=setup
    )
    masks = stack_action_masks([seen.masks for seen in observations], setup.placement.policy_device)
    noise = policy.draw_noise([env_state.action_generator for env_state in round_state.env_states])
    decision = policy.get_action(features, masks, round_state.hidden, noise)
    round_state.buffer.add(hosts[0].signals.epoch - 1, features, masks, decision)
    round_state.hidden = decision.hidden
    return decision.to_host()
