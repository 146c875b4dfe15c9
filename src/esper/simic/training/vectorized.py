"""Vectorised recurrent-PPO training of a policy that grows modules inside image classifiers.

Inner loop: N hosts train from scratch in lockstep, each an env with its own model, optimizers and
random state. Outer loop: the policy looks at every host once per host epoch and acts on one of its
slots. One round is N fresh hosts times L env-steps, then one policy update.
"""

from __future__ import annotations

import time

import torch
import torch.amp as torch_amp

from esper.kasmina import gate_config
from esper.leyline import EngineProtocol, SlotConfig
from esper.leyline.errors import naming_flag
from esper.leyline.task import TaskSpec
from esper.nissa import get_hub
from esper.simic.agent import PPOAgent, PPOConfig
from esper.simic.attribution import SAMPLED_ORDERS, most_coalitions
from esper.simic.client import SimicClient
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import RewardConfig, RewardFamily, RewardMode
from esper.simic.telemetry import (
    AnomalyDetector,
    TelemetryConfig,
    TelemetryLevel,
    check_numerical_stability,
    collect_per_layer_gradients,
)
from esper.simic.training.checkpoint import read_progress
from esper.simic.training.config import TrainingConfig, resolve_loading, resolve_slots
from esper.simic.training.result import TrainingResult
from esper.simic.training.round_end import PolicyMeasures, report_end, report_start, save_checkpoint
from esper.simic.training.run_state import Reporter, RunProgress, RunSetup
from esper.simic.training.vectorized_trainer import VectorizedPPOTrainer
from esper.tamiyo import HeuristicPolicy
from esper.tolaria.data import SharedBatchIterator, load_data
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.models import create_model
from esper.tolaria.plain_engine import PlainEngine
from esper.tolaria.runtime import resolve_amp_dtype, resolve_device, resolve_env_devices
from esper.tolaria.seeding import derive_generator, derive_seed
from esper.tolaria.setup import EngineSetup, Placement, Precision, Subject


def train_ppo_vectorized(
    config: TrainingConfig, task_spec: TaskSpec, *, telemetry_config: TelemetryConfig | None = None
) -> TrainingResult:
    """Train hosts of a task for `config.rounds` rounds, and the policy that grows them, from the start or
    from a checkpoint.

    With `config.policy` "heuristic" a rule-based policy acts and nothing but hosts is trained. Events go to
    the hub of `get_hub`. Raises InputError for settings, data or files that cannot be used, before anything
    is written.
    """
    run_started = time.perf_counter()
    setup = prepare_run(config, task_spec, telemetry_config)
    progress = RunProgress(RewardNormalizer())
    client = SimicClient(setup, progress, make_policy(setup, progress))
    engine = make_engine(setup)
    report_start(setup=setup, progress=progress, agent=client.agent)
    # An interrupted run can go on from here, whenever that happens.
    save_checkpoint(progress.first_round, agent=client.agent, setup=setup, progress=progress)
    measures = PolicyMeasures(collect_per_layer_gradients, check_numerical_stability)
    VectorizedPPOTrainer(setup, progress, engine, client, measures).run()
    report_end(setup=setup, progress=progress, run_started=run_started)
    return TrainingResult(agent=client.agent, rounds=tuple(progress.rounds))


def prepare_run(
    config: TrainingConfig, task_spec: TaskSpec, telemetry_config: TelemetryConfig | None
) -> RunSetup:
    """Devices, data, slots and telemetry of a run. Raises InputError for what cannot be used."""
    device = resolve_device(config.device)
    env_devices = resolve_env_devices(config.devices, device, config.envs)
    amp_dtype = resolve_amp_dtype(config.amp, config.amp_dtype, env_devices)
    placement = Placement(device, env_devices, Precision(amp_dtype, torch_amp), resolve_loading(config))
    if telemetry_config is None:
        telemetry_config = TelemetryConfig(
            TelemetryLevel[config.telemetry_level.upper()], gradient_stride=config.gradient_stride
        )
    reporter = Reporter(get_hub(), telemetry_config, AnomalyDetector())
    slot_config = SlotConfig(task_spec.slots, task_spec.topology)
    slots = resolve_slots(config, slot_config)
    data = load_data(
        task_spec,
        config.data_dir,
        download=config.download,
        train_images=config.train_images,
        val_images=config.val_images,
    )
    probe = create_model(
        task_spec,
        slot_config,
        slots,
        generator=derive_generator(config.seed, "probe"),
        device=torch.device("cpu"),
    )
    gates = gate_config(config.gates, config.auto_forward)
    subject = Subject(task_spec, slot_config, slots, probe.host_parameter_count, data, gates)
    reward_config = RewardConfig(
        family=RewardFamily(config.reward_family), mode=RewardMode(config.reward_mode)
    )
    return RunSetup(config, subject, placement, reporter, reward_config)


def make_policy(setup: RunSetup, progress: RunProgress) -> PPOAgent | HeuristicPolicy:
    """Who acts: rules, a fresh policy, or one from a checkpoint, which also says how far the run has come."""
    config, slot_config = setup.config, setup.subject.slot_config
    if config.policy == "heuristic":
        return HeuristicPolicy(slot_config)
    device = setup.placement.policy_device
    if config.resume is None:
        agent = PPOAgent(
            slot_config,
            PPOConfig(epochs=config.ppo_epochs),
            seed=derive_seed(config.seed, "policy"),
            device=device,
        )
    else:
        with naming_flag("--resume"):
            agent, saved = PPOAgent.load(config.resume, device=device)
        checkpoint = read_progress(config.resume, saved, config.outcome_settings())
        progress.reward_normalizer.load_state_dict(checkpoint.reward_normalizer)
        progress.first_round = checkpoint.rounds
        progress.rolling_accuracies.extend(checkpoint.rolling_accuracies)
        progress.best_accuracy = checkpoint.best_accuracy
        setup.reporter.telemetry.escalated_epochs = checkpoint.escalated_epochs
        setup.reporter.detector.load_state_dict(checkpoint.anomaly_detector)
    if config.compile_mode != "off":
        agent.compile(config.compile_mode)
    return agent


def make_engine(setup: RunSetup) -> EngineProtocol:
    """What trains the hosts, as the configuration says."""
    config = setup.config
    engine_setup = EngineSetup(
        subject=setup.subject,
        placement=setup.placement,
        seed=config.seed,
        episode_length=config.episode_length,
        governor_threshold=config.governor_threshold,
        max_configurations=most_coalitions(len(setup.subject.slots), SAMPLED_ORDERS),
        batch_iterator=SharedBatchIterator,
    )
    return PlainEngine(engine_setup) if config.engine == "plain" else VectorizedEngine(engine_setup)
