"""The agent as an engine's client: it decides, rewards and reports; hosts are the engine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esper.leyline.rollout import ActionOutcome, Configuration, HostObservation, SlotAction
from esper.leyline.telemetry import TelemetryEvent
from esper.simic.agent import PPOAgent
from esper.simic.agent.rollout import StepReward
from esper.simic.telemetry.emitters import emit_with_env_context
from esper.simic.training.action_execution import (
    ObservationSpace,
    choose_actions,
    count_step,
    end_env_step,
    observe_env,
    parse_decisions,
    reward_step,
)
from esper.simic.training.counterfactual_eval import choose_configurations, measure_contributions
from esper.simic.training.env_factory import announce_round, create_round_state
from esper.simic.training.round_state import ActionExecutionResult, RoundState, StepState
from esper.simic.training.run_state import RunProgress, RunSetup
from esper.simic.training.runner import PolicyUpdate, update_policy
from esper.tamiyo import HeuristicPolicy


class SimicClient:
    """A policy that learns, or rules that don't, with rewards and telemetry around it.

    Implements PolicyProtocol and RewardProtocol. `round_state` is the round that was begun last.
    """

    round_state: RoundState

    def __init__(self, setup: RunSetup, progress: RunProgress, policy: PPOAgent | HeuristicPolicy) -> None:
        self._config = setup.config
        self._reward_config = setup.reward_config
        self._reporter = setup.reporter
        self._progress = progress
        self._policy = policy
        self._space = ObservationSpace(
            slot_config=setup.subject.slot_config,
            slots=setup.subject.slots,
            max_seeds=setup.config.max_seeds,
            host_params=setup.subject.host_params,
            device=setup.placement.policy_device,
        )
        self._last = ActionExecutionResult()

    @property
    def agent(self) -> PPOAgent | None:
        """The policy, if it is one that learns."""
        return None if isinstance(self._policy, HeuristicPolicy) else self._policy

    def begin_round(self, round_idx: int) -> None:
        """Announce it, and forget the round before."""
        announced = announce_round(round_idx, self._config)
        self._reporter.hub.emit(TelemetryEvent(data=announced, round=round_idx))
        self.round_state = create_round_state(
            round_idx,
            self._config,
            entropy_coef=announced.entropy_coef,
            space=self._space,
            agent=self.agent,
        )
        self._last = ActionExecutionResult()

    def begin_epoch(self, epoch: int) -> int | None:
        """Let every env stand there; gradients are measured where telemetry wants them."""
        for env_state in self.round_state.env_states:
            env_state.epoch = epoch
        return self._reporter.gradient_stride

    def choose_configurations(
        self, contributing_slots: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[Configuration]]:
        """Every host as it is, then without some of the seeds that change its output."""
        hosts = zip(self.round_state.env_states, contributing_slots, strict=True)
        return [
            choose_configurations(env_state, slots, seed=self._config.seed, at_end=self._at_end)
            for env_state, slots in hosts
        ]

    def measure_contributions(self, accuracies: Sequence[Sequence[float]]) -> Sequence[Mapping[str, float]]:
        """Validation accuracy with each seed minus without it (fractions)."""
        hosts = zip(self.round_state.env_states, accuracies, strict=True)
        return [measure_contributions(env_state, of_host) for env_state, of_host in hosts]

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        """Choose the actions of all envs in one call of the policy, after their events were emitted."""
        env_states, reporter = self.round_state.env_states, self._reporter
        for env_state, host in zip(env_states, observations, strict=True):
            if host.gradients is not None:
                emit_with_env_context(reporter.hub, env_state, host.gradients)
        for env_state, host in zip(env_states, observations, strict=True):
            reporter.report_host_events(env_state, host.events)
        seen = [
            observe_env(env_state, host, space=self._space, detector=reporter.detector)
            for env_state, host in zip(env_states, observations, strict=True)
        ]
        host_actions = choose_actions(self.round_state, seen, policy=self._policy, space=self._space)
        self.round_state.step = StepState(seen, parse_decisions(host_actions, self._space))
        return [decision.action for decision in self.round_state.step.decisions]

    def reward_actions(self, outcomes: Sequence[ActionOutcome]) -> None:
        """Reward, count and report them, env by env; then hand the rewards to the policy's memory."""
        round_state = self.round_state
        for env_idx, outcome in enumerate(outcomes):
            self._reporter.report_host_events(round_state.env_states[env_idx], outcome.events)
            self._reward_action(env_idx, outcome)
        step = round_state.step
        normalised = [reward.normalised for reward in step.rewards]
        round_state.buffer.set_rewards(round_state.env_states[0].epoch - 1, normalised, dones=step.dones)
        self._progress.env_steps += len(normalised)
        self._reporter.report_anomalies(round_state)
        self._last = step.result

    def update(self) -> PolicyUpdate | None:
        """Learn from the round, and say what came of it; rules don't learn."""
        if self.agent is None:
            return None
        normalizer = self._progress.reward_normalizer
        return update_policy(
            self.round_state, self._last, agent=self.agent, space=self._space, reward_normalizer=normalizer
        )

    @property
    def _at_end(self) -> bool:
        return self.round_state.env_states[0].epoch == self._config.episode_length

    def _reward_action(self, env_idx: int, outcome: ActionOutcome) -> None:
        env_state, step = self.round_state.env_states[env_idx], self.round_state.step
        seen, decision = step.observations[env_idx], step.decisions[env_idx]
        raw, components, credits = reward_step(
            env_state,
            seen,
            decision.action,
            outcome,
            reward_config=self._reward_config,
            host_params=self._space.host_params,
        )
        reward = StepReward(raw, components, self._progress.reward_normalizer.normalize(raw))
        count_step(self.round_state, env_idx, reward, outcome)
        paid = credits if self._reward_config.pays_scaffolds else None
        self._reporter.report_env_step(env_state, seen, decision, reward, outcome, paid)
        pays_at_end = self._reward_config.pays_at_end
        end_env_step(
            step, env_state, outcome, at_end=self._at_end, pays_at_end=pays_at_end, space=self._space
        )
