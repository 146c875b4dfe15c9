"""Telemetry levels, and raising the level for a while after an anomaly."""

from dataclasses import dataclass
from enum import IntEnum


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
        """Whether telemetry of a level is emitted now."""
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
