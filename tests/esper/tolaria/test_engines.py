"""Engines by name, and with a client that is no agent: they know of it only what the protocols say."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from esper.kasmina import gate_config
from esper.leyline import EngineProtocol, FactoredAction, LifecycleOp, SlotConfig
from esper.leyline.errors import InputError
from esper.leyline.rollout import (
    ActionOutcome,
    Configuration,
    HostObservation,
    RolloutResult,
    SlotAction,
)
from esper.leyline.task import Loading
from esper.leyline.telemetry import GovernorRollback, SeedGerminated
from esper.runtime import get_task_spec
from esper.tolaria import engines
from esper.tolaria.data import load_data
from esper.tolaria.distributed_engine import own_placement
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.engines import PlainEngine
from esper.tolaria.setup import EngineSetup, Placement, Precision, Subject, create_host_states

CPU = torch.device("cpu")
ENGINES = [VectorizedEngine, PlainEngine]
ENVS, EPOCHS, IMAGES, STRIDE = 2, 5, 150, 2


def setup_of(governor_threshold: float = 10.0) -> EngineSetup:
    spec = get_task_spec("cifar_minimal")
    slots = SlotConfig(spec.slots, spec.topology)
    data = load_data(spec, None, download=False, train_images=IMAGES, val_images=IMAGES)
    subject = Subject(spec, slots, slots.slot_ids, 0, data, gate_config("permissive", "none"))
    return EngineSetup(
        subject=subject,
        placement=Placement(CPU, (CPU,) * ENVS, Precision(None, torch.amp), Loading()),
        envs=range(ENVS),
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

    def begin_epoch(self, epoch: int) -> int | None:
        self.epoch = epoch
        self.note("begin_epoch", None, epoch)
        return STRIDE if epoch % 2 else None

    def choose_configurations(
        self, contributing_slots: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[Configuration]]:
        for env_idx, slots in enumerate(contributing_slots):
            self.note("choose_configurations", env_idx, tuple(slots))
        return [[{}, *({slot: 0.0} for slot in slots)] for slots in contributing_slots]

    def measure_contributions(self, accuracies: Sequence[Sequence[float]]) -> Sequence[Mapping[str, float]]:
        for env_idx, of_host in enumerate(accuracies):
            self.note("measure_contributions", env_idx, list(of_host))
        known = self.epoch == EPOCHS
        return [{"r0c1": full - without} if known else {} for full, without, *_ in accuracies]

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        for env_idx, observation in enumerate(observations):
            self.note("choose_actions", env_idx, observation)
        op = LifecycleOp.GERMINATE if self.epoch == 1 else LifecycleOp.ADVANCE
        action = FactoredAction(1, 0, 0, 0, 0, 0, 0, op=op)
        return [SlotAction(op, "r0c1", action)] * len(observations)

    def reward_actions(self, outcomes: Sequence[ActionOutcome]) -> None:
        for env_idx, outcome in enumerate(outcomes):
            self.note("reward_actions", env_idx, outcome)

    def of(self, name: str, env_idx: int = 0) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.told[env_idx] if entry[0] == name]


def roll_out(engine: type[Any], setup: EngineSetup) -> tuple[Growing, RolloutResult]:
    client = Growing()
    return client, engine(setup).rollout(client, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_engine_asks_and_tells_in_an_episode(engine: type[Any]) -> None:
    client, result = roll_out(engine, setup_of())
    assert client.calls[:2] == ["begin_round", "begin_epoch"]
    questions = ("choose_configurations", "measure_contributions", "choose_actions", "reward_actions")
    assert client.calls[-8:] == [name for name in questions for _ in range(ENVS)]
    contributing = [slots for (slots,) in client.of("choose_configurations")]
    assert contributing[0] == ()
    assert contributing[-1] == ("r0c1",)
    observations = [observation for (observation,) in client.of("choose_actions")]
    assert [seen.signals.epoch for seen in observations] == list(range(1, EPOCHS + 1))
    assert [seen.before for seen in observations] == [None, *(seen.signals for seen in observations[:-1])]
    batches = -(-IMAGES // get_task_spec("cifar_minimal").batch_size)
    measured = [seen.gradients for seen in observations]
    assert [gradients is not None for gradients in measured] == [True, False, True, False, True]
    assert measured[0] is not None
    assert measured[0].batches == -(-batches // STRIDE)
    assert measured[0].host > 0
    assert measured[2] is not None
    assert set(measured[2].seeds) == {"r0c1"}
    outcomes = [outcome for (outcome,) in client.of("reward_actions")]
    assert [type(event.payload) for event in outcomes[0].events] == [SeedGerminated]
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
    assert side_by_side.calls == in_turn.calls


@pytest.mark.parametrize("engine", ENGINES)
def test_a_host_that_breaks_is_put_back_and_the_client_is_told(engine: type[Any]) -> None:
    client, result = roll_out(engine, setup_of(governor_threshold=0.1))
    observations = [observation for (observation,) in client.of("choose_actions")]
    events = [event for seen in observations for event in seen.events]
    rollbacks = [event for event in events if isinstance(event, GovernorRollback)]
    assert len(rollbacks) == result.hosts[0].rollbacks == sum(seen.rolled_back for seen in observations) > 0
    assert any(payload.pruned_slots for payload in rollbacks)
    back = next(seen for seen in observations if seen.rolled_back)
    assert back.metrics.val_loss != back.signals.val_loss


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_may_have_a_part_of_the_envs(engine: type[Any]) -> None:
    whole, all_of_it = roll_out(engine, setup_of())
    part, rest = roll_out(engine, replace(setup_of(), envs=range(1, ENVS)))
    assert part.told == {None: whole.told[None], 0: whole.told[1]}
    assert rest.hosts == all_of_it.hosts[1:]


def test_a_stream_of_another_device_is_refused() -> None:
    [env_state, _] = create_host_states(0, setup_of())
    stream: Any = SimpleNamespace(device=torch.device("cuda", 1))
    with pytest.raises(ValueError, match="env 0: its stream is of cuda:1, its host on cpu"):
        replace(env_state, stream=stream)


def register(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Make entry points of the engines' group out of `name="module:attribute"`."""
    found = [EntryPoint(name, value, engines.GROUP) for name, value in values.items()]
    monkeypatch.setattr(engines, "entry_points", lambda *, group: found if group == "esper.engines" else [])


def test_engines_of_our_own_and_of_other_packages_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, mine="esper.tolaria.engines:PlainEngine", plain="somewhere:Else")
    assert engines.find_engine("vectorized") is VectorizedEngine
    assert engines.find_engine("plain") is engines.find_engine("mine") is PlainEngine


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spark", "--engine spark: no such engine; known are vectorized, plain, distributed"),
        ("bad", r"--engine bad: cannot be loaded \(ModuleNotFoundError: "),
    ],
)
def test_an_engine_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    register(monkeypatch, bad="no_such_module_anywhere:Engine")
    with pytest.raises(InputError, match=f"^{message}"):
        engines.find_engine(name)


@pytest.mark.parametrize(
    ("devices", "local_rank", "own"),
    [
        (["cpu"], 3, "cpu"),
        (["cuda"], 3, "cuda:1"),
        (["cuda:0", "cuda:1", "cuda:0"], 2, "cuda:0"),
        (["cuda:0", "cuda:1", "cuda:0"], 3, "cuda:1"),
    ],
)
def test_each_process_of_a_machine_has_one_device(devices: list[str], local_rank: int, own: str) -> None:
    named = tuple(map(torch.device, devices))
    placement = Placement(named[0], named, Precision(None, torch.amp), Loading())
    found = own_placement(placement, local_rank, 2)
    assert found.policy_device == torch.device(own)
    assert found.env_devices == (torch.device(own),) * len(devices)
