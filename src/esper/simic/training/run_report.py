"""The first and the last event of a run."""

from __future__ import annotations

import time

from esper.leyline.telemetry import RunCompleted, RunStarted, TelemetryEvent
from esper.nissa import TelemetryHub
from esper.simic.agent import PPOAgent
from esper.simic.training.run_state import RunProgress, RunSetup


def report_start(*, setup: RunSetup, progress: RunProgress, agent: PPOAgent | None) -> None:
    """Emit the run as configured."""
    setup.reporter.hub.emit(
        TelemetryEvent(
            data=RunStarted(
                task=setup.subject.task_spec.name,
                seed=setup.config.seed,
                first_round=progress.first_round,
                rounds=setup.config.rounds,
                envs=setup.config.envs,
                episode_length=setup.config.episode_length,
                slots=setup.subject.slots,
                host_params=setup.subject.host_params,
                policy_params=0 if agent is None else agent.parameter_count,
                train_images=setup.subject.data.train_size,
                val_images=setup.subject.data.val_size,
                device=", ".join(
                    dict.fromkeys(str(env_device) for env_device in setup.placement.env_devices)
                ),
                config=setup.config.outcome_settings(),
            )
        )
    )


def report_end(hub: TelemetryHub, *, progress: RunProgress, run_started: float) -> None:
    """Emit what the run came to."""
    hub.emit(
        TelemetryEvent(
            data=RunCompleted(
                rounds=len(progress.rounds),
                env_steps=progress.env_steps,
                best_accuracy=progress.best_accuracy,
                final_accuracy=progress.final_accuracy,
                duration_s=time.perf_counter() - run_started,
            )
        )
    )
