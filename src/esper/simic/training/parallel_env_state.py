"""One env: its host with optimizers, its random state, and what it has counted."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.amp as torch_amp
from torch import Tensor

from esper.kasmina import ModelSnapshot, MorphogeneticModel
from esper.simic.attribution import Comparison, CounterfactualMatrix
from esper.simic.rewards import ScaffoldLedger
from esper.tamiyo import SignalTracker
from esper.tolaria.governor import Governor


@dataclass(slots=True)
class ParallelEnvState:
    """One env: its host with optimizers, its random state, and what it has counted.

    Totals are sums on the device, float64: of losses and of correct answers, [2] in training; in
    validation [1 + C], the loss of the host as it is, then the correct answers of each of C
    configurations.
    """

    env_idx: int
    round_idx: int
    device: torch.device
    model: MorphogeneticModel
    host_optimizer: torch.optim.Optimizer
    scaler: torch_amp.GradScaler | None
    signal_tracker: SignalTracker
    governor: Governor[ModelSnapshot]
    data_generator: torch.Generator
    action_generator: torch.Generator
    stream: torch.cuda.Stream | None
    train_totals: Tensor
    val_totals: Tensor
    epoch: int = 0
    seed_optimizers: dict[str, torch.optim.Optimizer] = field(default_factory=dict)
    gradient_norms: list[Tensor] = field(default_factory=list)
    comparison: Comparison = field(default_factory=Comparison)
    matrix: CounterfactualMatrix | None = None
    scaffolds: ScaffoldLedger = field(default_factory=ScaffoldLedger)
    escrow: dict[str, float] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    best_accuracy: float = 0.0
    val_accuracy: float = 0.0
    rollbacks: int = 0

    @property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The host's optimizer, then one for every live seed."""
        return [self.host_optimizer, *self.seed_optimizers.values()]
