"""One validation pass over several configurations of a host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Generator

from esper.simic.attribution.coalitions import Coalition, alpha_overrides, epoch_coalitions
from esper.simic.attribution.matrix import CounterfactualMatrix
from esper.simic.attribution.shapley import Order, ShapleyValues, compute_shapley, final_coalitions


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a pass compares: the host as it is first. `orders` are those to sample Shapley values with."""

    slots: tuple[str, ...] = ()
    coalitions: tuple[Coalition, ...] = (frozenset(),)
    orders: tuple[Order, ...] = ()

    @classmethod
    def of_epoch(cls, slots: Sequence[str]) -> Comparison:
        """Enough for contributions and interactions of the seeds in some slots."""
        return cls(tuple(slots), epoch_coalitions(slots))

    @classmethod
    def of_last_epoch(cls, slots: Sequence[str], generator: Generator) -> Comparison:
        """Enough for Shapley values besides."""
        coalitions, orders = final_coalitions(slots, generator)
        return cls(tuple(slots), coalitions, orders)

    @property
    def overrides(self) -> list[dict[str, float]]:
        """The configurations as `MorphogeneticModel.fused_forward` takes them."""
        return alpha_overrides(self.coalitions, self.slots)

    def matrix(self, accuracies: Sequence[float]) -> CounterfactualMatrix:
        """The accuracies (fractions) of the configurations, as far as there are any; more are left alone."""
        count = len(self.coalitions)
        return CounterfactualMatrix.of(self.slots, self.coalitions, accuracies[:count])

    def shapley(self, matrix: CounterfactualMatrix) -> ShapleyValues:
        """Shapley values; KeyError for a comparison that is not of a last epoch and has not all it takes."""
        return compute_shapley(self.slots, self.orders, matrix.accuracies.__getitem__)
