"""Both engines with a client that is no agent: they know of it only what the protocols say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch

from esper.kasmina import gate_config
from esper.leyline import EngineProtocol, FactoredAction, LifecycleOp, SlotConfig
from esper.leyline.rollout import (
    ActionOutcome,
    Configuration,
    HostObservation,
    RolloutResult,
    SlotAction,
)
from esper.leyline.task import Loading
from esper.leyline.telemetry import GovernorRollback, Payload
from esper.runtime import get_task_spec
from esper.tolaria.data import load_data
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.plain_engine import PlainEngine
from esper.tolaria.setup import EngineSetup, Placement, Precision, Subject

CPU = torch.device("cpu")
ENGINES = [VectorizedEngine, PlainEngine]
ENVS, EPOCHS, IMAGES = 2, 5, 150


def setup_of(governor_threshold: float = 10.0) -> EngineSetup:
    spec = get_task_spec("cifar_minimal")
    slots = SlotConfig(spec.slots, spec.topology)
    data = load_data(spec, None, download=False, train_images=IMAGES, val_images=IMAGES)
    subject = Subject(spec, slots, slots.slot_ids, 0, data, gate_config("permissive", "none"))
    return EngineSetup(
        subject=subject,
        placement=Placement(CPU, (CPU,) * ENVS, Precision(None, torch.amp), Loading()),
        seed=7,
        episode_length=EPOCHS,
        governor_threshold=governor_threshold,
        max_configurations=3,
    )


class Growing:
    """Grows a seed in one slot of every host and moves it on; writes down what it is told, by env."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.told: dict[int | None, list[Any]] = defaultdict(list)
        self.epoch = 0

    def note(self, name: str, env_idx: int | None, *what: Any) -> None:
        self.calls.append(name)
        self.told[env_idx].append((name, *what))

    def begin_round(self, round_idx: int) -> None:
        self.note("begin_round", None, round_idx)

    def begin_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.note("begin_epoch", None, epoch)

    def watch_gradients(self, env_idx: int, batch_idx: int, model: Any) -> None:
        norm = sum(float(parameter.grad.norm()) for parameter in model.host_parameters())
        seeds = {slot: len(model.seed_parameters(slot)) for slot in model.live_slots()}
        self.note("watch_gradients", env_idx, batch_idx, norm, seeds)

    def report_gradients(self, env_indices: Sequence[int]) -> None:
        for env_idx in env_indices:
            self.note("report_gradients", env_idx)

    def choose_configurations(
        self, env_idx: int, contributing_slots: Sequence[str]
    ) -> Sequence[Configuration]:
        self.note("choose_configurations", env_idx, tuple(contributing_slots))
        return [{}, *({slot: 0.0} for slot in contributing_slots)]

    def measure_contributions(self, env_idx: int, accuracies: Sequence[float]) -> Mapping[str, float]:
        self.note("measure_contributions", env_idx, list(accuracies))
        return {"r0c1": accuracies[0] - accuracies[1]} if self.epoch == EPOCHS else {}

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        for env_idx, observation in enumerate(observations):
            self.note("choose_actions", env_idx, observation)
        op = LifecycleOp.GERMINATE if self.epoch == 1 else LifecycleOp.ADVANCE
        action = FactoredAction(1, 0, 0, 0, 0, 0, 0, op=op)
        return [SlotAction(op, "r0c1", action)] * len(observations)

    def reward_action(self, env_idx: int, outcome: ActionOutcome) -> None:
        self.note("reward_action", env_idx, outcome)

    def end_step(self) -> None:
        self.note("end_step", None)

    def slot_changed(self, env_idx: int, slot_id: str, payload: Payload) -> None:
        self.note("slot_changed", env_idx, slot_id, payload)

    def rolled_back(self, env_idx: int, payload: GovernorRollback) -> None:
        self.note("rolled_back", env_idx, payload)

    def of(self, name: str, env_idx: int = 0) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.told[env_idx] if entry[0] == name]


def roll_out(engine: type[Any], setup: EngineSetup) -> tuple[Growing, RolloutResult]:
    client = Growing()
    return client, engine(setup).rollout(client, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_engine_asks_and_tells_in_an_episode(engine: type[Any]) -> None:
    client, result = roll_out(engine, setup_of())
    assert client.calls[:2] == ["begin_round", "begin_epoch"]
    told = [call for call in client.calls if call != "slot_changed"]
    assert told[-4:] == ["choose_actions", "reward_action", "reward_action", "end_step"]
    batches = -(-IMAGES // get_task_spec("cifar_minimal").batch_size)
    assert len(client.of("watch_gradients")) == EPOCHS * batches
    contributing = [slots for (slots,) in client.of("choose_configurations")]
    assert contributing[0] == ()
    assert contributing[-1] == ("r0c1",)
    observations = [observation for (observation,) in client.of("choose_actions")]
    assert [seen.signals.epoch for seen in observations] == list(range(1, EPOCHS + 1))
    assert [seen.before for seen in observations] == [None, *(seen.signals for seen in observations[:-1])]
    outcomes = [outcome for (outcome,) in client.of("reward_action")]
    assert outcomes[0].success
    assert set(outcomes[0].reports) == {"r0c1"}
    [(accuracies,)] = client.of("measure_contributions")[-1:]
    assert observations[-1].metrics.val_accuracy == accuracies[0] == result.hosts[0].final_accuracy
    assert observations[-1].measured["r0c1"].contribution == accuracies[0] - accuracies[1]
    assert [host.germinated for host in result.hosts] == [1, 1]
    assert result.images == ENVS * EPOCHS * 2 * IMAGES
    assert isinstance(engine(setup_of()), EngineProtocol)


def test_both_engines_tell_every_env_the_same() -> None:
    setup = setup_of()
    (side_by_side, first), (in_turn, second) = (roll_out(engine, setup) for engine in ENGINES)
    assert side_by_side.told == in_turn.told
    assert side_by_side.told[0] != side_by_side.told[1]
    assert first.hosts == second.hosts
    assert first.images == second.images
    assert side_by_side.calls != in_turn.calls


@pytest.mark.parametrize("engine", ENGINES)
def test_a_host_that_breaks_is_put_back_and_the_client_is_told(engine: type[Any]) -> None:
    client, result = roll_out(engine, setup_of(governor_threshold=0.1))
    rollbacks = [payload for (payload,) in client.of("rolled_back")]
    observations = [observation for (observation,) in client.of("choose_actions")]
    assert len(rollbacks) == result.hosts[0].rollbacks == sum(seen.rolled_back for seen in observations) > 0
    assert any(payload.pruned_slots for payload in rollbacks)
    back = next(seen for seen in observations if seen.rolled_back)
    assert back.metrics.val_loss != back.signals.val_loss


def test_a_round_does_not_depend_on_the_rounds_before() -> None:
    engine = VectorizedEngine(setup_of())
    rounds = []
    for round_idx in (0, 1, 0):
        client = Growing()
        engine.rollout(client, round_idx)
        rounds.append(dict(client.told))
    assert rounds[0] == rounds[2]
    assert rounds[0] != rounds[1]
