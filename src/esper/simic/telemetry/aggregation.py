"""Means and sums over the envs of a round, and over its policy updates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from esper.leyline.rollout import HostResult


def aggregate_ticker_metrics(
    hosts: Sequence[HostResult], rewards: Sequence[Sequence[float]]
) -> dict[str, float]:
    """Means and sums over the envs of a round, with each env's rewards: what a one-line display needs."""
    return {
        "mean_accuracy": statistics.fmean(host.final_accuracy for host in hosts),
        "best_accuracy": max(host.best_accuracy for host in hosts),
        "mean_return": statistics.fmean(math.fsum(of_env) for of_env in rewards),
        "env_steps": sum(len(of_env) for of_env in rewards),
        "germinated": sum(host.germinated for host in hosts),
        "fossilized": sum(host.fossilized for host in hosts),
        "pruned": sum(host.pruned for host in hosts),
        "rollbacks": sum(host.rollbacks for host in hosts),
    }


def aggregate_ppo_metrics(updates: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """One dict from the metrics of a round's updates: of each name the mean over the updates that have it, as
    a skipped one has none.
    """
    names = dict.fromkeys(name for metrics in updates for name in metrics)
    return {name: statistics.fmean(metrics[name] for metrics in updates if name in metrics) for name in names}
