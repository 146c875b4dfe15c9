"""What a run does and reports: events and their counts, seams, rollback, host reads, learning."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from esper.simic.telemetry import LayerGradientStats, NumericalReport
from tests.esper.simic.conftest import Run, of_type


def test_numbers_of_a_round_agree_with_those_of_its_steps(run: Run) -> None:
    events, result = run(envs=2, episode_length=8)
    for env in (0, 1):
        mine = [event for event in events if event["env"] == env]
        [episode] = of_type(mine, "EPISODE_COMPLETED")
        epochs, actions = of_type(mine, "EPOCH_COMPLETED"), of_type(mine, "LAST_ACTION")
        assert [event["epoch"] for event in epochs] == list(range(1, 9))
        assert episode["data"]["final_accuracy"] == epochs[-1]["data"]["val_accuracy"]
        assert episode["data"]["best_accuracy"] == max(e["data"]["val_accuracy"] for e in epochs)
        assert episode["data"]["germinated"] == len(of_type(mine, "SEED_GERMINATED"))
        assert episode["data"]["pruned"] == len(of_type(mine, "SEED_PRUNED"))
        assert episode["data"]["fossilized"] == len(of_type(mine, "SEED_FOSSILIZED"))
        rewards = [action["data"]["reward"] for action in actions]
        assert episode["data"]["episode_return"] == pytest.approx(sum(rewards), abs=1e-12)
        assert result.rounds[0].accuracies[env] == episode["data"]["final_accuracy"]
        for action in actions:
            total = sum(action["data"]["reward_components"].values())
            assert action["data"]["reward"] == pytest.approx(total, abs=1e-12)
    [distribution] = of_type(events, "ACTION_DISTRIBUTION")
    assert sum(distribution["data"]["counts"].values()) == 16


def test_only_the_given_slots_grow(run: Run) -> None:
    events, _ = run(envs=3, episode_length=10, slots=("r0c1",), train_images=64)
    assert {event["slot"] for event in of_type(events, "SEED_GERMINATED")} == {"r0c1"}


def test_no_more_seeds_at_a_time_than_allowed(run: Run) -> None:
    events, _ = run(envs=3, episode_length=10, max_seeds=1, train_images=64)
    gone = {"PRUNED", "EMBARGOED", "RESETTING"}
    live = [
        sum(stage not in gone for stage in event["data"]["seeds"].values())
        for event in of_type(events, "EPOCH_COMPLETED")
    ]
    assert max(live) == 1


def test_hosts_learn_the_synthetic_images(run: Run) -> None:
    events, _ = run(task="cifar_baseline", episode_length=4, train_images=2_000, val_images=500)
    accuracies = [event["data"]["val_accuracy"] for event in of_type(events, "EPOCH_COMPLETED")]
    assert max(accuracies) > 0.25


def test_host_reads_do_not_depend_on_the_number_of_envs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of a device are counted at the methods that make them."""
    counts = Counter[str]()
    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "nonzero"):
        original = getattr(torch.Tensor, name)

        def counted(self: Any, *args: Any, _name: str = name, _call: Any = original, **kwargs: Any) -> Any:
            counts[_name] += 1
            return _call(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, counted)
    seen = []
    for envs in (4, 8):  # with fewer envs an update has fewer minibatches, each of which is read once
        counts.clear()
        run(envs=envs, episode_length=5, train_images=64, ppo_epochs=1, telemetry_level="minimal")
        seen.append(sum(counts.values()))
    assert seen[0] > 0
    assert seen[0] == seen[1]


class Poisoned:
    """Batches of another iterator, with one env's images no numbers in some epochs."""

    def __init__(self, batches: Any, epochs: set[int]) -> None:
        self._batches, self._epochs, self._epoch = batches, epochs, 0

    def __iter__(self) -> Iterator[Any]:
        self._epoch += 1
        for step in self._batches:
            if self._epoch in self._epochs:
                inputs, targets = step[0]
                step = [(inputs * float("nan"), targets), *step[1:]]
            yield step


def poison(trainer: ModuleType, monkeypatch: pytest.MonkeyPatch, epochs: set[int]) -> None:
    original = trainer.SharedBatchIterator

    def make(data: Any, size: int, devices: Any, generators: Any = None, loading: Any = None) -> Any:
        batches = original(data, size, devices, generators, loading)
        return batches if generators is None else Poisoned(batches, epochs)

    monkeypatch.setattr(trainer, "SharedBatchIterator", make)


def test_a_broken_host_is_rolled_back_and_the_others_are_untouched(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy, _ = run(envs=2, episode_length=6)
    poison(trainer, monkeypatch, {3})
    events, result = run(envs=2, episode_length=6)
    [rollback] = of_type(events, "GOVERNOR_ROLLBACK")
    assert (rollback["env"], rollback["epoch"]) == (0, 3)
    assert (rollback["data"]["reason"], rollback["data"]["restored_epoch"]) == ("nonfinite", 2)
    mine = [event for event in events if event["env"] == 0]
    [punished] = [e for e in of_type(mine, "LAST_ACTION") if "rollback" in e["data"]["reward_components"]]
    assert punished["epoch"] == 3
    assert of_type(mine, "EPOCH_COMPLETED")[2]["data"]["val_loss"] == "nan"
    assert isinstance(of_type(mine, "EPOCH_COMPLETED")[3]["data"]["val_loss"], float)
    assert of_type(mine, "EPISODE_COMPLETED")[0]["data"]["rollbacks"] == 1
    detail = ("HOST_GRADIENT_NORMS", "SEED_GATE_EVALUATED")  # the level of telemetry is one for all envs
    others = [e for e in events if e["env"] == 1 and e["event_type"] not in detail]
    assert others == [e for e in healthy if e["env"] == 1]
    [anomaly] = of_type(mine, "ANOMALY_DETECTED")
    assert (anomaly["epoch"], anomaly["data"]["kind"]) == (3, "host_nonfinite")
    assert of_type(events, "TELEMETRY_LEVEL_CHANGED")[0]["epoch"] == 3
    assert all(torch.isfinite(value).all() for value in result.agent.policy.state_dict().values())


def test_a_host_broken_in_its_first_epoch_goes_back_to_its_birth(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(trainer, monkeypatch, {1})
    events, _ = run(episode_length=3)
    [rollback] = of_type(events, "GOVERNOR_ROLLBACK")
    assert rollback["data"]["restored_epoch"] == 0


def test_an_unstable_policy_raises_the_telemetry_level(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = [NumericalReport(("head.weight",), ()), *[NumericalReport((), ())] * 9]
    monkeypatch.setattr(trainer, "check_numerical_stability", lambda policy: reports.pop(0))
    events, _ = run(rounds=2, episode_length=12, train_images=16)
    [anomaly] = of_type(events, "ANOMALY_DETECTED")
    assert (anomaly["round"], anomaly["data"]["kind"]) == (0, "numerical_instability")
    assert anomaly["data"]["detail"] == "head.weight"
    levels = [
        (e["round"], e["epoch"], e["data"]["level"]) for e in of_type(events, "TELEMETRY_LEVEL_CHANGED")
    ]
    assert levels == [(0, None, "debug"), (1, 10, "normal")]
    measured = [(event["round"], event["epoch"]) for event in of_type(events, "HOST_GRADIENT_NORMS")]
    assert measured == [(1, epoch) for epoch in range(1, 11)]


def test_per_layer_gradients_come_through_the_seam(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = [LayerGradientStats("a", 3.0), LayerGradientStats("b", 4.0)]
    monkeypatch.setattr(trainer, "collect_per_layer_gradients", lambda policy: stats)
    events, _ = run(telemetry_level="debug", episode_length=2)
    assert of_type(events, "PPO_UPDATE_COMPLETED")[0]["data"]["grad_norm_surrogate"] == 5.0
    health = of_type(events, "LAYER_GRADIENT_HEALTH")[0]["data"]
    assert (health["layers"], health["norm_min"], health["norm_max"]) == (2, 3.0, 4.0)


def test_rewards_go_through_the_normaliser_of_the_module(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []

    class Doubling(trainer.RewardNormalizer):
        def normalize(self, reward: float) -> float:
            return 2 * reward

        def update(self, rewards: Any) -> None:
            seen.extend(rewards)

    monkeypatch.setattr(trainer, "RewardNormalizer", Doubling)
    events, _ = run(episode_length=3)
    actions = [event["data"] for event in of_type(events, "LAST_ACTION")]
    assert [action["normalised_reward"] for action in actions] == [2 * a["reward"] for a in actions]
    assert seen == [action["reward"] for action in actions]


def test_autocast_is_read_from_the_module(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    original = torch.amp.autocast

    def recorded(device: str, *, dtype: Any) -> Any:
        calls.append((device, dtype))
        return original(device, dtype=dtype)

    monkeypatch.setattr(trainer.torch_amp, "autocast", recorded)
    run(amp=True, episode_length=1)
    assert set(calls) == {("cpu", torch.bfloat16)}


def test_resuming_loads_through_the_agent_of_the_module(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = []
    original = trainer.PPOAgent.load

    def load(path: Path, device: Any = "cpu") -> Any:
        paths.append(path)
        return original(path, device=device)

    run(save=tmp_path / "a.pt", episode_length=1)
    monkeypatch.setattr(trainer.PPOAgent, "load", load)
    run(resume=tmp_path / "a.pt", rounds=2, episode_length=1)
    assert paths == [tmp_path / "a.pt"]
