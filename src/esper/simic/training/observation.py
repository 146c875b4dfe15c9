"""What the policy can see and choose in the envs, and its decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esper.leyline import DEFAULT_GOVERNOR_DEATH_PENALTY, SeedStateReport, SlotConfig, TrainingSignals
from esper.leyline.rollout import HostObservation
from esper.simic.agent import HostActions, PPOAgent
from esper.simic.telemetry import AnomalyDetector, detect_progress
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.round_state import EnvObservation, RoundState
from esper.tamiyo import (
    ActionMasks,
    HeuristicPolicy,
    batch_obs_to_features,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)


@dataclass(frozen=True, slots=True)
class ObservationSpace:
    """Slots of a host, those of them that seeds may grow in, how many at one time, the parameters of a host
    without seeds, and the device of the policy.
    """

    slot_config: SlotConfig
    slots: tuple[str, ...]
    max_seeds: int | None
    host_params: int
    device: torch.device

    def masks(self, reports: Mapping[str, SeedStateReport]) -> ActionMasks:
        """Which choices an env has."""
        return compute_action_masks(
            build_slot_states(reports, self.slot_config),
            slot_config=self.slot_config,
            enabled_slots=self.slots,
            max_seeds=self.max_seeds,
        )

    def features(
        self, signals: Sequence[TrainingSignals], reports: Sequence[Mapping[str, SeedStateReport]]
    ) -> Tensor:
        """Observation features [envs, features] of all envs."""
        return batch_obs_to_features(
            signals, reports, self.slot_config, host_params=self.host_params, device=self.device
        )


def observe_env(
    env_state: ParallelEnvState, host: HostObservation, *, space: ObservationSpace, detector: AnomalyDetector
) -> EnvObservation:
    """What an epoch of one env means: turns, anomalies, what a rollback costs, and the choices there are."""
    if env_state.matrix is not None:
        env_state.scaffolds.record(env_state.epoch, env_state.matrix.interactions(), host.measured)
    return EnvObservation(
        host=host,
        turn=detect_progress(host.before, host.signals),
        anomalies=detector.check_host(host.metrics.train_loss, host.metrics.val_loss),
        penalty=DEFAULT_GOVERNOR_DEATH_PENALTY if host.rolled_back else 0.0,
        masks=space.masks(host.reports),
    )


def choose_actions(
    round_state: RoundState,
    observations: Sequence[EnvObservation],
    *,
    policy: PPOAgent | HeuristicPolicy,
    space: ObservationSpace,
) -> HostActions:
    """One batched policy call and one transfer of all heads; or what the rules say."""
    hosts = [seen.host for seen in observations]
    if isinstance(policy, HeuristicPolicy):
        return HostActions.certain(
            [policy.decide(seen.host.signals, seen.host.reports, seen.masks) for seen in observations]
        )
    features = space.features([host.signals for host in hosts], [host.reports for host in hosts])
    masks = stack_action_masks([seen.masks for seen in observations], space.device)
    noise = policy.draw_noise([env_state.action_generator for env_state in round_state.env_states])
    decision = policy.get_action(features, masks, round_state.hidden, noise)
    round_state.buffer.add(hosts[0].signals.epoch - 1, features, masks, decision)
    round_state.hidden = decision.hidden
    return decision.to_host()
