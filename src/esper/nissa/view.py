"""What a person needs to see of a run, kept up to date by its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from esper.leyline.telemetry import (
    AnomalyDetected,
    BatchCompleted,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    LastAction,
    PPOUpdateCompleted,
    RoundStarted,
    RunCompleted,
    RunStarted,
    SeedGerminated,
    TelemetryEvent,
    Throughput,
)


@dataclass
class EnvView:
    """One env in its present round. `seeds` maps slots to stages, `blueprints` to what grows there."""

    epoch: int = 0
    accuracy: float = 0.0
    best: float = 0.0
    reward: float = 0.0
    last_op: str = ""
    parameters: int = 0
    seeds: dict[str, str] = field(default_factory=dict)
    blueprints: dict[str, str] = field(default_factory=dict)


@dataclass
class RoundView:
    """One finished round of all envs; `best` is the best validation accuracy of any host in any epoch."""

    accuracy: float
    best: float
    mean_return: float
    grown: int
    kept: int
    pruned: int
    policy_loss: float | None = None
    env_steps_per_s: float | None = None


@dataclass
class RunView:
    """The whole run so far; `env_steps` counts those of this process."""

    started: RunStarted | None = None
    completed: RunCompleted | None = None
    round_idx: int = 0
    env_steps: int = 0
    rollbacks: int = 0
    anomalies: int = 0
    parameters_grown: int = 0
    envs: dict[int, EnvView] = field(default_factory=dict)
    rounds: dict[int, RoundView] = field(default_factory=dict)
    _policy_loss: float | None = None
    _best: float = 0.0

    @property
    def total_env_steps(self) -> int:
        """How many there will be; 0 before the run started."""
        run = self.started
        return 0 if run is None else (run.rounds - run.first_round) * run.envs * run.episode_length

    def apply(self, event: TelemetryEvent) -> None:
        """Take in one event."""
        if event.env is not None:
            self._apply_to_env(self.envs.setdefault(event.env, EnvView()), event)
        else:
            self._apply_to_run(event)

    def _apply_to_env(self, env: EnvView, event: TelemetryEvent) -> None:
        match event.data:
            case EpochCompleted() as data:
                env.epoch = event.epoch or 0
                env.accuracy, env.best = data.val_accuracy, max(env.best, data.val_accuracy)
                env.parameters = data.total_params
                env.seeds = dict(data.seeds)
                self.env_steps += 1
            case LastAction() as data:
                env.reward += data.reward
                env.last_op = data.operation
            case SeedGerminated() as data if event.slot is not None:
                env.blueprints[event.slot] = data.blueprint
            case GovernorRollback():
                self.rollbacks += 1
            case AnomalyDetected():
                self.anomalies += 1
            case EpisodeCompleted() as data:
                self.parameters_grown += data.total_params - data.host_params
                self._best = max(self._best, data.best_accuracy)

    def _apply_to_run(self, event: TelemetryEvent) -> None:
        found = self.rounds.get(self.round_idx)
        match event.data:
            case RunStarted() as data:
                self.started = data
            case RoundStarted():
                self.round_idx = event.round or 0
                self.envs.clear()
                self.parameters_grown = 0
                self._best = 0.0
            case AnomalyDetected():
                self.anomalies += 1
            case BatchCompleted() as data:
                # Where steps are not reported one by one, rounds are what progress can be seen by.
                done = self.round_idx + 1 - (0 if self.started is None else self.started.first_round)
                self.env_steps = done * data.env_steps
                self.rounds[self.round_idx] = RoundView(
                    accuracy=data.mean_accuracy,
                    best=self._best,
                    mean_return=data.mean_return,
                    grown=data.seeds_germinated,
                    kept=data.seeds_fossilized,
                    pruned=data.seeds_pruned,
                    policy_loss=self._policy_loss,
                )
            case PPOUpdateCompleted() as data:
                self._policy_loss = data.metrics.get("policy_loss")
            case Throughput() as data if found is not None:
                found.env_steps_per_s = data.env_steps_per_s
            case RunCompleted() as data:
                self.completed = data
