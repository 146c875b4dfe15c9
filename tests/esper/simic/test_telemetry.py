"""Levels with escalation, gradient norms, and what counts as trouble or as progress."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from esper.leyline.telemetry import ImprovementDetected, PlateauDetected
from esper.simic.agent import PPOUpdateResult
from esper.simic.telemetry import (
    AnomalyDetector,
    AnomalyThresholds,
    NumericalReport,
    TelemetryConfig,
    TelemetryLevel,
    check_numerical_stability,
    collect_host_gradients_async,
    collect_per_layer_gradients,
    collect_seed_gradients_async,
    detect_progress,
    split_gradient_norms,
)
from esper.simic.telemetry.emitters import aggregate_ppo_metrics
from esper.tamiyo import SignalTracker


def with_gradients() -> nn.Linear:
    """A layer whose weight gradient has norm 5 and whose bias has none."""
    layer = nn.Linear(2, 1)
    layer.weight.grad = torch.tensor([[3.0, 4.0]])
    return layer


def test_an_anomaly_gives_full_detail_for_some_epochs() -> None:
    config = TelemetryConfig(TelemetryLevel.MINIMAL, escalation_epochs=2)
    assert not config.wants(TelemetryLevel.NORMAL)
    assert config.escalate()
    assert not config.escalate()
    assert config.wants(TelemetryLevel.DEBUG)
    assert [config.finish_epoch() for _ in range(3)] == [False, True, False]
    assert config.effective_level is TelemetryLevel.MINIMAL


def test_norms_of_layers_that_have_a_gradient() -> None:
    [stats] = collect_per_layer_gradients(with_gradients())
    assert (stats.name, stats.norm) == ("weight", 5.0)
    assert collect_per_layer_gradients(nn.Linear(2, 1)) == []


def test_norms_of_host_and_seeds_come_in_one_tensor_each() -> None:
    host, seed, idle = with_gradients(), with_gradients(), nn.Linear(2, 1)
    of_host = collect_host_gradients_async(list(host.parameters()))
    of_seeds = collect_seed_gradients_async(
        {"a": list(seed.parameters()), "b": list(idle.parameters())}, torch.device("cpu")
    )
    assert collect_seed_gradients_async({}, torch.device("cpu")).shape == (0,)
    norms = torch.cat([of_host[None], of_seeds])
    first, second = split_gradient_norms([norms, norms[:1]], [("a", "b"), ()])
    assert (first.host, first.seeds) == (5.0, {"a": 5.0, "b": 0.0})
    assert (second.host, second.seeds) == (5.0, {})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_named(bad: float) -> None:
    layer = with_gradients()
    assert check_numerical_stability(layer).stable
    assert layer.weight.grad is not None
    layer.weight.grad[0, 1] = bad
    report = check_numerical_stability(layer)
    assert (report.parameters, report.gradients) == ((), ("weight",))
    with torch.no_grad():
        layer.bias.fill_(bad)
    report = check_numerical_stability(layer)
    assert (report.parameters, report.gradients, report.stable) == (("bias",), ("weight",), False)


def test_the_metrics_of_updates_are_their_means_and_a_skipped_one_has_none() -> None:
    assert aggregate_ppo_metrics([]) == {}
    assert aggregate_ppo_metrics([{}]) == {}
    assert aggregate_ppo_metrics([{"entropy": 0.1}]) == {"entropy": 0.1}
    two = [{"entropy": 1.0, "approx_kl": 0.5}, {}, {"entropy": 2.0}]
    assert aggregate_ppo_metrics(two) == {"entropy": 1.5, "approx_kl": 0.5}


STABLE = NumericalReport((), ())
HEALTHY = {"approx_kl": 0.01, "grad_norm": 1.0, "entropy": 2.0, "explained_variance": 0.3}


def update(skipped: str | None = None, **metrics: float) -> PPOUpdateResult:
    return PPOUpdateResult(skipped, 4, False, HEALTHY | metrics)


def kinds(found: list[Any]) -> list[str]:
    return [anomaly.kind for anomaly in found]


@pytest.mark.parametrize(
    ("metrics", "kind"),
    [
        ({"approx_kl": 0.6}, "policy_jump"),
        ({"grad_norm": 101.0}, "gradient_explosion"),
        ({"entropy": 0.0}, "entropy_collapse"),
    ],
)
def test_a_metric_out_of_bounds_is_named_with_its_value(metrics: dict[str, float], kind: str) -> None:
    [anomaly] = AnomalyDetector().check_update(update(**metrics), STABLE)
    assert (anomaly.kind, anomaly.values) == (kind, metrics)


def test_an_update_that_was_refused_and_broken_weights_are_two_anomalies() -> None:
    report = NumericalReport(("a.weight",), ("a.weight", "b.bias"))
    found = AnomalyDetector().check_update(PPOUpdateResult("loss not finite", 0, False, {}), report)
    assert kinds(found) == ["numerical_instability", "update_skipped"]
    assert (found[0].detail, found[1].detail) == ("a.weight, a.weight, b.bias", "loss not finite")
    assert found[0].values == {"parameters": 1.0, "gradients": 2.0}


def test_a_critic_may_be_wrong_at_first_and_a_resumed_one_has_had_its_time() -> None:
    detector = AnomalyDetector(AnomalyThresholds(value_warm_up=2))
    wrong = update(explained_variance=-3.0)
    assert [kinds(detector.check_update(wrong, STABLE)) for _ in range(3)] == [[], [], ["value_collapse"]]
    resumed = AnomalyDetector(AnomalyThresholds(value_warm_up=2))
    resumed.load_state_dict(detector.state_dict())
    assert kinds(resumed.check_update(wrong, STABLE)) == ["value_collapse"]


def test_a_host_whose_loss_is_no_number_is_an_anomaly() -> None:
    assert AnomalyDetector().check_host(1.0, 90.0) == []
    [anomaly] = AnomalyDetector().check_host(1.0, math.nan)
    assert (anomaly.kind, anomaly.detail) == ("host_nonfinite", "val_loss")


def progress(*accuracies: float) -> list[Any]:
    """What every epoch of an env changed."""
    tracker, before, found = SignalTracker(len(accuracies)), None, []
    for epoch, accuracy in enumerate(accuracies, start=1):
        now = tracker.update(
            epoch=epoch, train_loss=1.0, train_accuracy=0.0, val_loss=1.0, val_accuracy=accuracy
        )
        found.append(detect_progress(before, now, plateau_epochs=3))
        before = now
    return found


def test_a_plateau_is_told_once_and_so_is_its_end() -> None:
    found = progress(0.3, 0.3, 0.2, 0.3, 0.3, 0.5, 0.6)
    assert found[:3] == [None, None, None]
    assert found[3] == PlateauDetected(best_accuracy=0.3, epochs=3)
    assert found[4] is None
    assert found[5] == ImprovementDetected(best_accuracy=0.5, gain=pytest.approx(0.2), plateau_epochs=4)
    assert found[6] is None
