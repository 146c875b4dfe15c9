"""Signs of trouble in hosts and in the policy's updates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from esper.leyline.telemetry import AnomalyDetected
from esper.simic.agent import PPOUpdateResult
from esper.simic.telemetry.stability import NumericalReport


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyThresholds:
    """From where on a metric of an update is a sign of trouble.

    The critic is given `value_warm_up` updates before it must explain anything.
    """

    approx_kl: float = 0.5
    grad_norm: float = 100.0
    entropy: float = 1e-3
    explained_variance: float = -1.0
    value_warm_up: int = 10


class AnomalyDetector:
    """Judges epochs of hosts and updates of the policy; counts updates, to tell the first ones."""

    def __init__(self, thresholds: AnomalyThresholds = AnomalyThresholds()) -> None:
        self._thresholds = thresholds
        self._updates = 0

    def check_host(self, train_loss: float, val_loss: float) -> list[AnomalyDetected]:
        """A host whose loss (nats per target) is no number."""
        losses = {"train_loss": train_loss, "val_loss": val_loss}
        broken = [name for name, loss in losses.items() if not math.isfinite(loss)]
        return (
            [AnomalyDetected(kind="host_nonfinite", detail=", ".join(broken), values=losses)]
            if broken
            else []
        )

    def check_update(self, update: PPOUpdateResult, stability: NumericalReport) -> list[AnomalyDetected]:
        """What is wrong after one update of the policy; in a fixed order."""
        self._updates += 1
        found = []
        if not stability.stable:
            found.append(
                AnomalyDetected(
                    kind="numerical_instability",
                    detail=", ".join((*stability.parameters, *stability.gradients)),
                    values={
                        "parameters": float(len(stability.parameters)),
                        "gradients": float(len(stability.gradients)),
                    },
                )
            )
        if update.skipped:
            found.append(AnomalyDetected(kind="update_skipped", detail=update.skipped, values={}))
        found += self._out_of_bounds(update.metrics)
        return found

    def _out_of_bounds(self, metrics: Mapping[str, float]) -> list[AnomalyDetected]:
        limits = self._thresholds
        critic_is_warm = self._updates > limits.value_warm_up
        checks = [
            ("policy_jump", "the policy moved far", "approx_kl", limits.approx_kl, 1.0),
            ("gradient_explosion", "gradients are very large", "grad_norm", limits.grad_norm, 1.0),
            ("entropy_collapse", "the policy hardly varies", "entropy", limits.entropy, -1.0),
        ]
        if critic_is_warm:
            limit = limits.explained_variance
            checks.append(("value_collapse", "values say nothing", "explained_variance", limit, -1.0))
        return [
            AnomalyDetected(kind=kind, detail=detail, values={metric: metrics[metric]})
            for kind, detail, metric, limit, sign in checks
            if metric in metrics and sign * metrics[metric] > sign * limit
        ]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs, as plain values."""
        return {"updates": self._updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state."""
        self._updates = int(state["updates"])
