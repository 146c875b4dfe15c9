"""What events say agrees with what other events say; counts follow from the settings alone."""

import json
import math
from collections import Counter
from types import ModuleType
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from esper.leyline.telemetry import TelemetryEvent
from esper.nissa import event_record, parse_event

from ..conftest import Events, Run, of_type


def test_counts_of_the_smallest_run_are_these(run: Run, snapshot: SnapshotAssertion) -> None:
    """By level; without those of seeds, which follow from what the policy happens to choose."""
    counts = {}
    for level in ("minimal", "normal", "debug"):
        events, _ = run(rounds=1, envs=1, episode_length=2, telemetry_level=level)
        names = Counter(event["event_type"] for event in events)
        chosen = ("SEED_", "COUNTERFACTUAL_")
        counts[level] = {name: names[name] for name in sorted(names) if not name.startswith(chosen)}
    assert counts == snapshot(name="counts", extension_class=JSONSnapshotExtension)


def test_real_events_of_every_level_read_back_into_their_types(
    run: Run, emitted: list[TelemetryEvent]
) -> None:
    run(telemetry_level="debug", envs=3, episode_length=12)
    for event in emitted:
        assert parse_event(json.loads(json.dumps(event_record(event)))) == event
    assert len({event.event_type for event in emitted}) >= 18


def test_gradients_cost_nothing_where_nobody_asked_for_them(
    trainer: ModuleType, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from esper.tolaria import gradients

    def refuse(parameters: Any) -> Any:
        raise AssertionError("measured without being asked")

    monkeypatch.setattr(gradients, "_total_norm", refuse)
    run(episode_length=2, telemetry_level="normal")
    with pytest.raises(AssertionError, match="measured without being asked"):
        run(episode_length=2, telemetry_level="debug")


@pytest.fixture
def events(run: Run) -> Events:
    found, _ = run(envs=4, episode_length=14, train_images=128, seed=5)
    return found


def test_summaries_of_a_round_are_the_sums_of_its_steps(events: Events) -> None:
    actions = [event["data"] for event in of_type(events, "LAST_ACTION")]
    rewards = [action["reward"] for action in actions]
    [summary] = [event["data"] for event in of_type(events, "REWARD_SUMMARY")]
    assert summary["mean"] == pytest.approx(math.fsum(rewards) / len(rewards))
    assert (summary["minimum"], summary["maximum"]) == (min(rewards), max(rewards))
    for name, mean in summary["components"].items():
        total = math.fsum(action["reward_components"].get(name, 0.0) for action in actions)
        assert mean == pytest.approx(total / len(actions))
    assert math.fsum(summary["components"].values()) == pytest.approx(summary["mean"])

    [distribution] = [event["data"] for event in of_type(events, "ACTION_DISTRIBUTION")]
    assert +Counter(distribution["counts"]) == Counter(action["operation"] for action in actions)
    done = Counter(action["operation"] for action in actions if action["success"])
    assert +Counter(distribution["successes"]) == done

    [masks] = [event["data"] for event in of_type(events, "MASK_HIT_RATES")]
    hits = Counter(name for action in actions for name, hit in action["masked"].items() if hit)
    assert +Counter(masks["hits"]) == hits
    assert set(masks["total"].values()) == {len(actions)}


def test_shares_and_interactions_follow_from_the_accuracies(events: Events) -> None:
    for event in of_type(events, "COUNTERFACTUAL_COMPUTED"):
        data, slots = event["data"], list(event["data"]["contributions"])
        accuracy = data["accuracies"]

        def without(*gone: str, slots: Any = slots, accuracy: Any = accuracy) -> float:
            return accuracy["+".join(slot for slot in slots if slot not in gone) or "none"]

        assert data["contributions"] == {slot: without() - without(slot) for slot in slots}
        for pair, value in data["interactions"].items():
            a, b = pair.split("+")
            assert value == without() - without(a) - without(b) + without(a, b)
        assert len(data["interactions"]) == math.comb(len(slots), 2)
    shares = of_type(events, "SHAPLEY_COMPUTED")
    assert shares
    for event in shares:
        data = event["data"]
        [last] = [
            e["data"]
            for e in of_type(events, "COUNTERFACTUAL_COMPUTED")
            if (e["env"], e["epoch"]) == (event["env"], event["epoch"])
        ]
        assert event["epoch"] == 14
        assert math.fsum(data["values"].values()) == pytest.approx(
            data["full_accuracy"] - data["bare_accuracy"]
        )
        assert (data["full_accuracy"], data["bare_accuracy"]) == (
            last["accuracies"]["+".join(data["values"])],
            last["accuracies"]["none"],
        )
        assert (data["method"], data["configurations"]) == ("exact", 2 ** len(data["values"]))


def test_credits_of_scaffolds_are_the_part_of_the_reward(events: Events) -> None:
    credited = Counter[tuple[int, int]]()
    for event in of_type(events, "SCAFFOLD_CREDITED"):
        credited[event["env"], event["epoch"]] += event["data"]["credit"]
    for event in of_type(events, "LAST_ACTION"):
        paid = event["data"]["reward_components"]["scaffold"]
        assert paid == pytest.approx(credited[event["env"], event["epoch"]])


def test_a_round_s_time_is_at_least_that_of_its_phases(run: Run, emitted: list[TelemetryEvent]) -> None:
    run(envs=2, episode_length=2)
    [event] = [event for event in emitted if event.event_type == "THROUGHPUT"]
    assert list(event.data.phase_s) == ["train", "validate", "decide", "act", "update"]
    assert 0.0 < sum(event.data.phase_s.values()) <= event.data.duration_s
    assert event.data.images == 2 * 2 * (96 + 48)
    assert event.data.env_steps_per_s == pytest.approx(4 / event.data.duration_s)
