"""Vectorised recurrent-PPO training of a policy that grows modules inside image classifiers.

Inner loop: N hosts train from scratch in lockstep, each an env with its own model, optimizers and
random state. Outer loop: the policy looks at every host once per host epoch and acts on one of its
slots. One round is N fresh hosts times L env-steps, then one policy update.
"""

from __future__ import annotations

import time

import torch.amp as torch_amp

from esper.leyline import SharedEngineProtocol
from esper.leyline.task import TaskSpec
from esper.nissa import get_hub
from esper.simic.agent import PPOAgent
from esper.simic.client import SimicClient
from esper.simic.control import RewardNormalizer
from esper.simic.telemetry import (
    AnomalyDetector,
    TelemetryConfig,
    TelemetryLevel,
    check_numerical_stability,
    collect_per_layer_gradients,
)
from esper.simic.training.config import TrainingConfig
from esper.simic.training.report import PolicyMeasures, RoundReport, report_end, report_start
from esper.simic.training.reporter import Reporter
from esper.simic.training.result import TrainingResult
from esper.simic.training.run_state import (
    CheckpointWriter,
    RunProgress,
    engine_setup,
    make_policy,
    prepare_run,
)
from esper.simic.training.vectorized_trainer import VectorizedPPOTrainer
from esper.tolaria.data import SharedBatchIterator
from esper.tolaria.engines import find_engine


def train_ppo_vectorized(
    config: TrainingConfig, task_spec: TaskSpec, *, telemetry_config: TelemetryConfig | None = None
) -> TrainingResult:
    """Train hosts of a task for `config.rounds` rounds, and the policy that grows them, from the start or
    from a checkpoint.

    With `config.policy` "heuristic" a rule-based policy acts and nothing but hosts is trained. Events go to
    the hub of `get_hub`. With an engine of many processes only the leading one has rounds, events and files.
    Raises InputError for settings, data or files that cannot be used, before anything
    is written, and OutputError where a checkpoint or events can't be written.
    """
    run_started = time.perf_counter()
    telemetry = telemetry_config or TelemetryConfig(
        TelemetryLevel[config.telemetry_level.upper()], gradient_stride=config.gradient_stride
    )
    reporter = Reporter(get_hub(), telemetry, AnomalyDetector())
    setup = prepare_run(config, task_spec, reporter, torch_amp)
    engine = find_engine(config.engine)(engine_setup(setup, SharedBatchIterator))
    if isinstance(engine, SharedEngineProtocol) and not engine.leads:
        engine.follow()
        return TrainingResult(agent=None, rounds=())
    progress = RunProgress(RewardNormalizer())
    client = SimicClient(setup, progress, make_policy(setup, progress, PPOAgent))
    measures = PolicyMeasures(collect_per_layer_gradients, check_numerical_stability)
    trainer = VectorizedPPOTrainer(
        engine=engine,
        client=client,
        report=RoundReport(reporter, progress, setup.subject.host_params, client.agent, measures),
        checkpoints=CheckpointWriter(config, client.agent, progress, reporter),
    )
    report_start(setup=setup, progress=progress, agent=client.agent)
    trainer.run(range(progress.first_round, config.rounds))
    if isinstance(engine, SharedEngineProtocol):
        engine.close()
    report_end(reporter.hub, progress=progress, run_started=run_started)
    return TrainingResult(agent=client.agent, rounds=tuple(progress.rounds))
