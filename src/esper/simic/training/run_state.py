"""Set-up of a run, its state between rounds, and its checkpoints."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from types import ModuleType

import torch

from esper.kasmina import gate_config
from esper.leyline import SlotConfig
from esper.leyline.errors import naming_flag
from esper.leyline.task import TaskSpec
from esper.simic.agent import PPOAgent
from esper.simic.attribution import SAMPLED_ORDERS, most_coalitions
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import RewardConfig, RewardFamily, RewardMode
from esper.simic.training.config import TrainingConfig, resolve_host_parallel, resolve_loading, resolve_slots
from esper.simic.training.reporter import Reporter
from esper.simic.training.result import RoundResult, TrainingProgress, read_progress
from esper.tamiyo import HeuristicPolicy
from esper.tolaria.data import SharedBatchIterator, load_data
from esper.tolaria.models import create_model
from esper.tolaria.runtime import (
    derive_generator,
    derive_seed,
    keep_bits,
    resolve_amp_dtype,
    resolve_device,
    resolve_env_devices,
)
from esper.tolaria.setup import EngineSetup, Placement, Precision, Subject

ROLLING_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class RunSetup:
    """Set-up of a run: all that stays the same from the first round to the last."""

    config: TrainingConfig
    subject: Subject
    placement: Placement
    reporter: Reporter
    reward_config: RewardConfig


@dataclass(slots=True)
class RunProgress:
    """How far a run has come, and what outlives a round besides the agent."""

    reward_normalizer: RewardNormalizer
    first_round: int = 0
    rolling_accuracies: deque[float] = field(default_factory=lambda: deque(maxlen=ROLLING_ROUNDS))
    best_accuracy: float = 0.0
    final_accuracy: float = 0.0
    env_steps: int = 0
    rounds: list[RoundResult] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CheckpointWriter:
    """Writes all that the next round follows from, where a path was given and a policy learns."""

    config: TrainingConfig
    agent: PPOAgent | None
    progress: RunProgress
    reporter: Reporter

    def save(self, rounds: int) -> None:
        """Replace the checkpoint by one after so many rounds. OutputError if that can't be done."""
        if self.agent is None or self.config.save is None:
            return
        saved = TrainingProgress(
            settings=self.config.outcome_settings(),
            rounds=rounds,
            reward_normalizer=self.progress.reward_normalizer.state_dict(),
            rolling_accuracies=list(self.progress.rolling_accuracies),
            best_accuracy=self.progress.best_accuracy,
            escalated_epochs=self.reporter.telemetry.escalated_epochs,
            anomaly_detector=self.reporter.detector.state_dict(),
        )
        with naming_flag("--save"):
            self.agent.save(self.config.save, saved.model_dump())


def restore_progress(checkpoint: TrainingProgress, progress: RunProgress, reporter: Reporter) -> None:
    """Stand where a checkpoint was written."""
    progress.reward_normalizer.load_state_dict(checkpoint.reward_normalizer)
    progress.first_round = checkpoint.rounds
    progress.rolling_accuracies.extend(checkpoint.rolling_accuracies)
    progress.best_accuracy = checkpoint.best_accuracy
    reporter.telemetry.escalated_epochs = checkpoint.escalated_epochs
    reporter.detector.load_state_dict(checkpoint.anomaly_detector)


def place_run(config: TrainingConfig, torch_amp: ModuleType) -> Placement:
    """Devices, precision and loading of a run. Raises InputError for what is not here."""
    device = resolve_device(config.device)
    env_devices = resolve_env_devices(config.devices, device, config.envs)
    keep_bits(device, env_devices)
    amp_dtype = resolve_amp_dtype(config.amp, config.amp_dtype, env_devices)
    return Placement(device, env_devices, Precision(amp_dtype, torch_amp), resolve_loading(config))


def load_subject(config: TrainingConfig, task_spec: TaskSpec) -> Subject:
    """Slots, data and gates of a run. Raises InputError for what cannot be used."""
    slot_config = SlotConfig(task_spec.slots, task_spec.topology)
    slots = resolve_slots(config, slot_config)
    data = load_data(
        task_spec,
        config.data_dir,
        download=config.download,
        train_images=config.train_images,
        val_images=config.val_images,
    )
    generator = derive_generator(config.seed, "probe")
    probe = create_model(task_spec, slot_config, slots, generator=generator, device=torch.device("cpu"))
    gates = gate_config(config.gates, config.auto_forward)
    return Subject(task_spec, slot_config, slots, probe.host_parameter_count, data, gates)


def prepare_run(
    config: TrainingConfig, task_spec: TaskSpec, reporter: Reporter, torch_amp: ModuleType
) -> RunSetup:
    """All that stays as it is from the first round to the last. Raises InputError for what cannot be used."""
    placement = place_run(config, torch_amp)
    subject = load_subject(config, task_spec)
    reward_config = RewardConfig(
        family=RewardFamily(config.reward_family), mode=RewardMode(config.reward_mode)
    )
    return RunSetup(config, subject, placement, reporter, reward_config)


def make_policy(
    setup: RunSetup, progress: RunProgress, agent_class: type[PPOAgent]
) -> PPOAgent | HeuristicPolicy:
    """Who acts: rules, a fresh policy, or one from a checkpoint, which also says how far the run has come."""
    config, slot_config = setup.config, setup.subject.slot_config
    if config.policy == "heuristic":
        return HeuristicPolicy(slot_config)
    device = setup.placement.policy_device
    if config.resume is None:
        seed = derive_seed(config.seed, "policy")
        agent = agent_class(slot_config, config.ppo_config(), seed=seed, device=device)
    else:
        with naming_flag("--resume"):
            agent, saved = agent_class.load(config.resume, device=device)
        checkpoint = read_progress(config.resume, saved, config.outcome_settings())
        restore_progress(checkpoint, progress, setup.reporter)
    if config.compile_mode != "off":
        agent.compile(config.compile_mode)
    return agent


def engine_setup(setup: RunSetup, batch_iterator: type[SharedBatchIterator]) -> EngineSetup:
    """Return the part of the set-up that an engine needs."""
    return EngineSetup(
        subject=setup.subject,
        placement=setup.placement,
        envs=range(setup.config.envs),
        seed=setup.config.seed,
        episode_length=setup.config.episode_length,
        governor_threshold=setup.config.governor_threshold,
        max_configurations=most_coalitions(len(setup.subject.slots), SAMPLED_ORDERS),
        batch_iterator=batch_iterator,
        host_parallel=resolve_host_parallel(setup.config),
    )
