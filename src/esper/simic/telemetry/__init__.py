"""How much telemetry to emit, what a policy's numbers look like after an update, what counts as trouble."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor, nn

from esper.leyline import TrainingSignals
from esper.leyline.telemetry import AnomalyDetected, ImprovementDetected, PlateauDetected
from esper.simic.agent import PPOUpdateResult
from esper.tolaria.gradients import collect_host_gradients_async as collect_host_gradients_async
from esper.tolaria.gradients import collect_seed_gradients_async as collect_seed_gradients_async
from esper.tolaria.gradients import split_gradient_norms as split_gradient_norms

VANISHING_NORM = 1e-7
EXPLODING_NORM = 1e2


@dataclass(frozen=True, slots=True)
class LayerGradientStats:
    """The 2-norm of one parameter's gradient."""

    name: str
    norm: float


@torch.compiler.disable
def collect_per_layer_gradients(module: nn.Module) -> list[LayerGradientStats]:
    """Gradient norms of a module's parameters that have one, in their order. One transfer to the host."""
    named = [(name, value.grad) for name, value in module.named_parameters() if value.grad is not None]
    if not named:
        return []
    norms = torch.stack(torch._foreach_norm([gradient for _, gradient in named])).tolist()
    return [LayerGradientStats(name, norm) for (name, _), norm in zip(named, norms, strict=True)]


@dataclass(frozen=True, slots=True)
class NumericalReport:
    """Names of parameters that hold a NaN or infinity, and of those whose gradient does."""

    parameters: tuple[str, ...]
    gradients: tuple[str, ...]

    @property
    def stable(self) -> bool:
        """True if everything is finite."""
        return not self.parameters and not self.gradients


def check_numerical_stability(module: nn.Module) -> NumericalReport:
    """Look at all parameters and gradients of a module. One transfer to the host."""
    named = list(module.named_parameters())
    if not named:
        return NumericalReport((), ())
    weights: list[Tensor] = [value for _, value in named]
    with_gradient = [(name, value.grad) for name, value in named if value.grad is not None]
    # A sum of absolute values is finite only if every element is (barring overflow, which is trouble as
    # well).
    sizes = torch._foreach_norm(weights, 1) + torch._foreach_norm([grad for _, grad in with_gradient], 1)
    finite = torch.isfinite(torch.stack(list(sizes))).tolist()
    names = [name for name, _ in named] + [name for name, _ in with_gradient]
    bad = [name for name, good in zip(names, finite, strict=True) if not good]
    count = sum(not good for good in finite[: len(named)])
    return NumericalReport(tuple(bad[:count]), tuple(bad[count:]))


class TelemetryLevel(IntEnum):
    """How much is emitted: rounds only; every env-step; what is needed to find a fault."""

    MINIMAL = 0
    NORMAL = 1
    DEBUG = 2


ESCALATION_EPOCHS = 10


@dataclass(slots=True)
class TelemetryConfig:
    """The level asked for, and how many epochs of full detail are left after an anomaly."""

    level: TelemetryLevel = TelemetryLevel.NORMAL
    gradient_stride: int = 10
    escalation_epochs: int = ESCALATION_EPOCHS
    escalated_epochs: int = 0

    @property
    def effective_level(self) -> TelemetryLevel:
        """The level in force now."""
        return TelemetryLevel.DEBUG if self.escalated_epochs else self.level

    def wants(self, level: TelemetryLevel) -> bool:
        """Return True if telemetry of a level is emitted now."""
        return self.effective_level >= level

    def escalate(self) -> bool:
        """Full detail for the coming epochs; whether that raises the level now."""
        raised = self.effective_level < TelemetryLevel.DEBUG
        self.escalated_epochs = self.escalation_epochs
        return raised

    def finish_epoch(self) -> bool:
        """Count an epoch of all envs; whether the level fell back by it."""
        was = self.effective_level
        self.escalated_epochs = max(0, self.escalated_epochs - 1)
        return self.effective_level < was


PLATEAU_EPOCHS = 5
"""Epochs without a better accuracy that make a plateau."""


def detect_progress(
    before: TrainingSignals | None, now: TrainingSignals, plateau_epochs: int = PLATEAU_EPOCHS
) -> PlateauDetected | ImprovementDetected | None:
    """Return the event of a plateau that the last epoch of one env reached or ended, if it did.

    `before` is the epoch before it, None at the first.
    """
    waited = 0 if before is None else before.epochs_since_improvement
    if now.epochs_since_improvement == plateau_epochs > waited:
        return PlateauDetected(best_accuracy=now.best_val_accuracy, epochs=plateau_epochs)
    if before is not None and now.epochs_since_improvement == 0 and waited >= plateau_epochs:
        return ImprovementDetected(
            best_accuracy=now.best_val_accuracy,
            gain=now.best_val_accuracy - before.best_val_accuracy,
            plateau_epochs=waited,
        )
    return None


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
        """Return the anomalies after one update of the policy, in a fixed order."""
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
        """Return the state that a resumed run needs, as plain values."""
        return {"updates": self._updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state."""
        self._updates = int(state["updates"])
