"""The loop of `train_ppo_vectorized` in esper.simic.training.vectorized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from esper.simic.training.action_execution import execute_actions, watch_hosts
from esper.simic.training.batch_ops import train_hosts, validate_hosts
from esper.simic.training.env_factory import begin_round
from esper.simic.training.observation import choose_actions, observe_host
from esper.simic.training.round_end import report_round, save_checkpoint, update_policy
from esper.simic.training.run_state import ActionExecutionResult
from esper.tolaria.runtime import timed

if TYPE_CHECKING:
    from esper.simic.training.run_state import RunProgress, RunSetup


@dataclass(frozen=True, slots=True)
class Seams:
    """What the loop of `train_ppo_vectorized` needs."""

    SharedBatchIterator: Any
    torch_amp: Any
    collect_per_layer_gradients: Any
    check_numerical_stability: Any


@dataclass(frozen=True, slots=True)
class VectorizedPPOTrainer:
    """Rounds of training: fresh hosts, their epochs in lockstep, and one update of the policy."""

    seams: Seams
    progress: RunProgress
    setup: RunSetup
    agent: Any
    val_batches: Any
    rule_based: Any

    def run(self) -> None:
        """Run the loop."""
        progress = self.progress
        setup = self.setup
        agent = self.agent
        val_batches = self.val_batches
        rule_based = self.rule_based
        SharedBatchIterator = self.seams.SharedBatchIterator
        torch_amp = self.seams.torch_amp
        collect_per_layer_gradients = self.seams.collect_per_layer_gradients
        check_numerical_stability = self.seams.check_numerical_stability

        for round_idx in range(progress.first_round, setup.config.rounds):
            round_state = begin_round(
                round_idx, setup=setup, SharedBatchIterator=SharedBatchIterator, agent=agent
            )
            seconds = round_state.phase_s
            last = ActionExecutionResult()
            for epoch in range(1, setup.config.episode_length + 1):
                with timed(seconds, "train"):
                    train_totals = train_hosts(round_state, epoch, setup=setup, torch_amp=torch_amp)
                with timed(seconds, "validate"):
                    val_totals = validate_hosts(
                        round_state,
                        setup=setup,
                        val_batches=val_batches,
                        torch_amp=torch_amp,
                    )
                with timed(seconds, "decide"):
                    observations = [
                        observe_host(*parts, setup=setup)
                        for parts in zip(round_state.env_states, train_totals, val_totals, strict=True)
                    ]
                    host_actions = choose_actions(
                        round_state,
                        observations,
                        agent=agent,
                        rule_based=rule_based,
                        setup=setup,
                    )
                with timed(seconds, "act"):
                    last = execute_actions(
                        round_state, observations, host_actions, setup=setup, progress=progress
                    )
                    watch_hosts(round_state, observations, setup=setup)
            with timed(seconds, "update"):
                updated = update_policy(round_state, last, agent=agent, setup=setup, progress=progress)
            report_round(
                round_state,
                updated,
                setup=setup,
                progress=progress,
                collect_per_layer_gradients=collect_per_layer_gradients,
                agent=agent,
                check_numerical_stability=check_numerical_stability,
            )
            save_checkpoint(round_idx + 1, agent=agent, setup=setup, progress=progress)
