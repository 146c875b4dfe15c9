"""The counterfactual matrix: validation accuracy by configuration, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from esper.simic.attribution.coalitions import Coalition, coalition_name


@dataclass(frozen=True, slots=True)
class CounterfactualMatrix:
    """Validation accuracies (fractions) by the slots switched on; at least those of `epoch_coalitions`."""

    slots: tuple[str, ...]
    accuracies: Mapping[Coalition, float]

    @classmethod
    def of(
        cls, slots: Sequence[str], coalitions: Sequence[Coalition], accuracies: Sequence[float]
    ) -> CounterfactualMatrix:
        """From parallel lists; ValueError where their lengths differ."""
        return cls(tuple(slots), dict(zip(coalitions, accuracies, strict=True)))

    @property
    def full(self) -> float:
        """Accuracy of the host as it is."""
        return self.accuracies[frozenset(self.slots)]

    @property
    def bare(self) -> float:
        """Accuracy with every seed switched off."""
        return self.accuracies[frozenset()]

    def contributions(self) -> dict[str, float]:
        """What goes away with each seed alone."""
        return {slot: self.full - self._without(slot) for slot in self.slots}

    def interactions(self) -> dict[tuple[str, str], float]:
        """For each two slots, in order: what both add over what each adds, all other seeds being on.

        `v(N) - v(N - a) - v(N - b) + v(N - a - b)`; above 0 where the seeds help each other.
        """
        return {
            (a, b): self.full - self._without(a) - self._without(b) + self._without(a, b)
            for a, b in combinations(self.slots, 2)
        }

    def by_name(self) -> dict[str, float]:
        """Accuracies by the configuration's name."""
        return {coalition_name(found, self.slots): value for found, value in self.accuracies.items()}

    def _without(self, *slots: str) -> float:
        return self.accuracies[frozenset(self.slots).difference(slots)]
