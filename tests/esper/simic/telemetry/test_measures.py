"""Levels with escalation, gradient norms and the check for numbers that are none."""

import math

import pytest
import torch
from torch import nn

from esper.simic.telemetry import (
    TelemetryConfig,
    TelemetryLevel,
    check_numerical_stability,
    collect_host_gradients_async,
    collect_per_layer_gradients,
    collect_seed_gradients_async,
    split_gradient_norms,
)
from esper.simic.telemetry.emitters import aggregate_ppo_metrics


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


def test_another_anomaly_starts_the_count_again() -> None:
    config = TelemetryConfig(escalation_epochs=3)
    config.escalate()
    config.finish_epoch()
    config.escalate()
    assert [config.finish_epoch() for _ in range(3)] == [False, False, True]


def test_escalating_full_detail_changes_nothing_to_see() -> None:
    config = TelemetryConfig(TelemetryLevel.DEBUG)
    assert not config.escalate()
    assert not config.finish_epoch()


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


def test_a_module_without_parameters_is_stable() -> None:
    assert check_numerical_stability(nn.ReLU()).stable


def test_the_metrics_of_updates_are_their_means_and_a_skipped_one_has_none() -> None:
    assert aggregate_ppo_metrics([]) == {}
    assert aggregate_ppo_metrics([{}]) == {}
    assert aggregate_ppo_metrics([{"entropy": 0.1}]) == {"entropy": 0.1}
    two = [{"entropy": 1.0, "approx_kl": 0.5}, {}, {"entropy": 2.0}]
    assert aggregate_ppo_metrics(two) == {"entropy": 1.5, "approx_kl": 0.5}
