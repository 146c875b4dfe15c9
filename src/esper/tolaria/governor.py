"""The watchdog of one env: notices a host that broke, and puts an earlier state of it back."""

import math
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from esper.leyline import (
    DEFAULT_GOVERNOR_ABSOLUTE_THRESHOLD,
    DEFAULT_GOVERNOR_COLLAPSE_RATIO,
    DEFAULT_GOVERNOR_HISTORY_WINDOW,
    DEFAULT_GOVERNOR_MIN_HISTORY,
    DEFAULT_GOVERNOR_MIN_PANICS,
    DEFAULT_GOVERNOR_SENSITIVITY,
)

Symptom = Literal["nonfinite", "diverged", "outlier", "collapse"]
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class GovernorConfig:
    """When a validation loss is taken as a sign of breakage, and after how many such epochs to act."""

    sensitivity: float = DEFAULT_GOVERNOR_SENSITIVITY
    absolute_threshold: float = DEFAULT_GOVERNOR_ABSOLUTE_THRESHOLD
    collapse_ratio: float = DEFAULT_GOVERNOR_COLLAPSE_RATIO
    history_window: int = DEFAULT_GOVERNOR_HISTORY_WINDOW
    min_history: int = DEFAULT_GOVERNOR_MIN_HISTORY
    min_panics: int = DEFAULT_GOVERNOR_MIN_PANICS


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on an epoch: what was seen, for how many epochs in a row, and whether to roll back now."""

    symptom: Symptom
    loss: float
    consecutive: int
    rollback: bool


@dataclass(frozen=True, slots=True)
class Healthy(Generic[S]):
    """A state worth going back to, with the epoch and the validation result that it had."""

    state: S
    epoch: int
    loss: float
    accuracy: float


class Governor(Generic[S]):
    """Judges one env's validation results epoch by epoch, and keeps its last healthy state."""

    def __init__(self, num_classes: int, config: GovernorConfig = GovernorConfig()) -> None:
        self._config = config
        self._chance = 1.0 / num_classes
        self._chance_loss = math.log(num_classes)
        self._losses: deque[float] = deque(maxlen=config.history_window)
        self._best_accuracy = 0.0
        self._consecutive = 0
        self.healthy: Healthy[S] | None = None

    def judge(self, loss: float, accuracy: float) -> Verdict | None:
        """None if an epoch looks healthy. A loss that is no number asks for a rollback at once."""
        symptom = self._symptom(loss, accuracy)
        if symptom is None:
            self._losses.append(loss)
            self._best_accuracy = max(self._best_accuracy, accuracy)
            self._consecutive = 0
            return None
        self._consecutive += 1
        rollback = symptom == "nonfinite" or self._consecutive >= self._config.min_panics
        return Verdict(symptom, loss, self._consecutive, rollback)

    def keep(self, snapshot: Callable[[], S], epoch: int, loss: float, accuracy: float) -> None:
        """Remember a healthy state instead of the one before."""
        self.healthy = Healthy(snapshot(), epoch, loss, accuracy)

    def rolled_back(self) -> None:
        """Start to count afresh after a rollback; the loss history stays."""
        self._consecutive = 0

    def _symptom(self, loss: float, accuracy: float) -> Symptom | None:
        config = self._config
        if not math.isfinite(loss):
            return "nonfinite"
        if loss > config.absolute_threshold:
            return "diverged"
        # A host that never got far above chance has nothing to collapse from.
        had_learnt = self._best_accuracy >= 2.0 * self._chance
        if had_learnt and loss > self._chance_loss and accuracy < config.collapse_ratio * self._best_accuracy:
            return "collapse"
        if len(self._losses) >= config.min_history:
            mean, spread = statistics.fmean(self._losses), statistics.pstdev(self._losses)
            if loss > self._chance_loss and loss > mean + config.sensitivity * spread:
                return "outlier"
        return None
