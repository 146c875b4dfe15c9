"""Two reward modes from one seed: the same hosts in the same order, so that results can be paired."""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esper.leyline.errors import OutputError
from esper.simic.training.config import TrainingConfig

if TYPE_CHECKING:  # it loads torch, which a wrong flag need not wait for
    from esper.simic.training.result import TrainingResult

RESULT_FILE = "dual_ab.json"


@dataclass(frozen=True, slots=True)
class Arm:
    """One training: its reward mode, and per round and env the final validation accuracy and the return.

    Returns are in the units of their own reward mode; between arms only accuracies compare.
    """

    reward_mode: str
    accuracies: tuple[tuple[float, ...], ...]
    returns: tuple[tuple[float, ...], ...]

    @property
    def final_accuracy(self) -> float:
        """Mean over the envs of the last round."""
        return statistics.fmean(self.accuracies[-1])

    @property
    def mean_accuracy(self) -> float:
        """Mean over all hosts of all rounds."""
        return statistics.fmean(accuracy for row in self.accuracies for accuracy in row)

    @property
    def best_accuracy(self) -> float:
        """The best host at its end."""
        return max(accuracy for row in self.accuracies for accuracy in row)


@dataclass(frozen=True, slots=True)
class DualABResult:
    """Both arms of one seed."""

    seed: int
    first: Arm
    second: Arm

    @property
    def differences(self) -> tuple[float, ...]:
        """Accuracy of the second arm minus the first, host by host: pairs begin with the same weights and
        see the same batches.
        """
        pairs = zip(self.first.accuracies, self.second.accuracies, strict=True)
        return tuple(b - a for one, other in pairs for a, b in zip(one, other, strict=True))

    @property
    def mean_difference(self) -> float:
        """Mean of the differences."""
        return statistics.fmean(self.differences)

    @property
    def standard_error(self) -> float | None:
        """Of the mean difference, pairs taken as independent; None for a single pair."""
        count = len(self.differences)
        return statistics.stdev(self.differences) / math.sqrt(count) if count > 1 else None

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        means = ("final_accuracy", "mean_accuracy", "best_accuracy")
        arms = [
            asdict(arm) | {name: getattr(arm, name) for name in means} for arm in (self.first, self.second)
        ]
        differences = {name: getattr(self, name) for name in ("mean_difference", "standard_error")}
        return {"seed": self.seed, "arms": arms, **differences}


def arm_configs(config: TrainingConfig) -> tuple[TrainingConfig, TrainingConfig]:
    """The settings of both arms, each with a folder and a checkpoint of its own. ValueError without
    `dual_ab`.
    """
    if config.dual_ab is None:
        raise ValueError("arm_configs needs a configuration with dual_ab")
    first, second = (_arm(config, mode) for mode in (config.reward_mode, config.dual_ab))
    return first, second


def _arm(config: TrainingConfig, mode: str) -> TrainingConfig:
    changes: dict[str, Any] = {"reward_mode": mode, "dual_ab": None}
    if config.telemetry_dir is not None:
        changes["telemetry_dir"] = config.telemetry_dir / mode
    if config.save is not None:
        changes["save"] = config.save.with_name(f"{config.save.stem}.{mode}{config.save.suffix}")
    return config.replaced(changes)


def run_dual_ab(config: TrainingConfig, train: "Callable[[TrainingConfig], TrainingResult]") -> DualABResult:
    """Train both arms, one after the other, on the devices of the configuration."""
    first, second = (_summed_up(arm, train(arm)) for arm in arm_configs(config))
    return DualABResult(config.seed, first, second)


def _summed_up(config: TrainingConfig, result: "TrainingResult") -> Arm:
    return Arm(
        config.reward_mode,
        tuple(row.accuracies for row in result.rounds),
        tuple(row.returns for row in result.rounds),
    )


def write_dual_ab(result: DualABResult, folder: Path) -> None:
    """Write the comparison beside the arms' folders. Raises OutputError if that cannot be done."""
    try:
        (folder / RESULT_FILE).write_text(json.dumps(result.as_json(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"--telemetry-dir {folder}: {RESULT_FILE} cannot be written ({error.strerror})"
        ) from error


def comparison_rows(result: DualABResult) -> Sequence[tuple[str, str, str]]:
    """Return the rows of the comparison: a label, and the value of each arm."""
    first, second = result.first, result.second
    return [
        ("final accuracy, last round", f"{first.final_accuracy:.3f}", f"{second.final_accuracy:.3f}"),
        ("final accuracy, all rounds", f"{first.mean_accuracy:.3f}", f"{second.mean_accuracy:.3f}"),
        ("best host", f"{first.best_accuracy:.3f}", f"{second.best_accuracy:.3f}"),
        (
            "mean return, last round",
            f"{statistics.fmean(first.returns[-1]):+.2f}",
            f"{statistics.fmean(second.returns[-1]):+.2f}",
        ),
    ]
