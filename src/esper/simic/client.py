"""The agent as an engine's client: it decides, rewards and reports; hosts are the engine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esper.leyline import SeededHostProtocol
from esper.leyline.rollout import ActionOutcome, Configuration, HostObservation, SlotAction
from esper.leyline.telemetry import GovernorRollback, Payload
from esper.simic.agent import PPOAgent
from esper.simic.telemetry import TelemetryLevel
from esper.simic.telemetry.emitters import apply_slot_telemetry, emit_with_env_context
from esper.simic.training.action_execution import end_step, parse_decisions, reward_action
from esper.simic.training.batch_ops import report_gradient_norms, watch_gradients
from esper.simic.training.counterfactual_eval import choose_configurations, measure_contributions
from esper.simic.training.env_factory import begin_round
from esper.simic.training.observation import choose_actions, observe_env
from esper.simic.training.round_end import PolicyUpdate, update_policy
from esper.simic.training.run_state import (
    ActionExecutionResult,
    RoundState,
    RunProgress,
    RunSetup,
    StepState,
)
from esper.tamiyo import HeuristicPolicy


class SimicClient:
    """A policy that learns, or rules that don't, with rewards and telemetry around it.

    Implements PolicyProtocol, RewardProtocol and WitnessProtocol. `round_state` is the round that was begun
    last.
    """

    round_state: RoundState

    def __init__(self, setup: RunSetup, progress: RunProgress, policy: PPOAgent | HeuristicPolicy) -> None:
        self._setup = setup
        self._progress = progress
        self._policy = policy
        self._last = ActionExecutionResult()

    @property
    def agent(self) -> PPOAgent | None:
        """The policy, if it is one that learns."""
        return None if isinstance(self._policy, HeuristicPolicy) else self._policy

    def begin_round(self, round_idx: int) -> None:
        """Announce it, and forget the round before."""
        self.round_state = begin_round(round_idx, setup=self._setup, agent=self.agent)
        self._last = ActionExecutionResult()

    def begin_epoch(self, epoch: int) -> None:
        """Let every env stand there."""
        for env_state in self.round_state.env_states:
            env_state.epoch = epoch

    def watch_gradients(self, env_idx: int, batch_idx: int, model: SeededHostProtocol) -> None:
        """Measure the gradients of every so many batches, where telemetry wants them."""
        env_state = self.round_state.env_states[env_idx]
        watch_gradients(env_state, batch_idx, model, telemetry=self._setup.reporter.telemetry)

    def report_gradients(self, env_indices: Sequence[int]) -> None:
        """Emit what was measured of some envs, in one transfer."""
        if self._setup.reporter.telemetry.wants(TelemetryLevel.DEBUG):
            env_states = [self.round_state.env_states[env_idx] for env_idx in env_indices]
            report_gradient_norms(env_states, setup=self._setup)

    def choose_configurations(
        self, env_idx: int, contributing_slots: Sequence[str]
    ) -> Sequence[Configuration]:
        """The host as it is, then without some of the seeds that change its output."""
        env_state = self.round_state.env_states[env_idx]
        return choose_configurations(env_state, contributing_slots, setup=self._setup)

    def measure_contributions(self, env_idx: int, accuracies: Sequence[float]) -> Mapping[str, float]:
        """Validation accuracy with each seed minus without it (fractions)."""
        return measure_contributions(self.round_state.env_states[env_idx], accuracies)

    def slot_changed(self, env_idx: int, slot_id: str, payload: Payload) -> None:
        """Emit it, if it is wanted now: the level can change while seeds live."""
        env_state, reporter = self.round_state.env_states[env_idx], self._setup.reporter
        apply_slot_telemetry(reporter.hub, reporter.telemetry, env_state, slot_id, payload)

    def rolled_back(self, env_idx: int, payload: GovernorRollback) -> None:
        """Emit it."""
        env_state = self.round_state.env_states[env_idx]
        emit_with_env_context(self._setup.reporter.hub, env_state, payload, severity="warning")

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        """What the policy says of all envs in one call."""
        round_state, setup = self.round_state, self._setup
        hosts = zip(round_state.env_states, observations, strict=True)
        seen = [observe_env(env_state, host, setup=setup) for env_state, host in hosts]
        host_actions = choose_actions(round_state, seen, policy=self._policy, setup=setup)
        round_state.step = StepState(seen, parse_decisions(host_actions, setup=setup))
        return [decision.action for decision in round_state.step.decisions]

    def reward_action(self, env_idx: int, outcome: ActionOutcome) -> None:
        """Reward, count and report it."""
        reward_action(self.round_state, env_idx, outcome, setup=self._setup, progress=self._progress)

    def end_step(self) -> None:
        """Remember what all actions were worth."""
        self._last = end_step(self.round_state, setup=self._setup, progress=self._progress)

    def update(self) -> PolicyUpdate | None:
        """Learn from the round, and say what came of it; rules don't learn."""
        if self.agent is None:
            return None
        return update_policy(
            self.round_state, self._last, agent=self.agent, setup=self._setup, progress=self._progress
        )
