"""What the agent's side keeps of one env, beside the host that an engine trains."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from esper.simic.attribution import Comparison, CounterfactualMatrix
from esper.simic.rewards import ScaffoldLedger


@dataclass(slots=True)
class ParallelEnvState:
    """One env of a round: where it stands, its random state for actions, and what its seeds earned."""

    env_idx: int
    round_idx: int
    action_generator: torch.Generator
    epoch: int = 0
    comparison: Comparison = field(default_factory=Comparison)
    matrix: CounterfactualMatrix | None = None
    scaffolds: ScaffoldLedger = field(default_factory=ScaffoldLedger)
    escrow: dict[str, float] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
