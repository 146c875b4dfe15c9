"""What each seed is worth: configurations with and without seeds, and fair shares of what they add."""

from esper.simic.attribution.coalitions import (
    Coalition,
    alpha_overrides,
    coalition_name,
    epoch_coalitions,
    most_coalitions,
)
from esper.simic.attribution.comparison import Comparison
from esper.simic.attribution.matrix import CounterfactualMatrix
from esper.simic.attribution.shapley import (
    EXACT_LIMIT,
    SAMPLED_ORDERS,
    ShapleyValues,
    coalitions_of_orders,
    compute_shapley,
    draw_orders,
    exact_shapley,
    final_coalitions,
    sampled_shapley,
)

__all__ = [
    "EXACT_LIMIT",
    "SAMPLED_ORDERS",
    "Coalition",
    "Comparison",
    "CounterfactualMatrix",
    "ShapleyValues",
    "alpha_overrides",
    "coalition_name",
    "coalitions_of_orders",
    "compute_shapley",
    "draw_orders",
    "epoch_coalitions",
    "exact_shapley",
    "final_coalitions",
    "most_coalitions",
    "sampled_shapley",
]
