"""What counts as trouble, and what as progress."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esper.leyline.telemetry import ImprovementDetected, PlateauDetected
from esper.simic.agent import PPOUpdateResult
from esper.simic.telemetry import AnomalyDetector, AnomalyThresholds, NumericalReport, detect_progress
from esper.tamiyo import SignalTracker

STABLE = NumericalReport((), ())
HEALTHY = {"approx_kl": 0.01, "grad_norm": 1.0, "entropy": 2.0, "explained_variance": 0.3}


def update(skipped: str | None = None, **metrics: float) -> PPOUpdateResult:
    return PPOUpdateResult(skipped, 4, False, HEALTHY | metrics)


def kinds(found: list[Any]) -> list[str]:
    return [anomaly.kind for anomaly in found]


def test_a_healthy_update_is_no_anomaly() -> None:
    assert AnomalyDetector().check_update(update(), STABLE) == []


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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_plateaus_and_improvements_alternate(accuracies: list[float]) -> None:
    found = [type(event) for event in progress(*accuracies) if event is not None]
    assert found == [(PlateauDetected, ImprovementDetected)[index % 2] for index in range(len(found))]
