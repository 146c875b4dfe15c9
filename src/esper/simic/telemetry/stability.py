"""Whether a module's numbers are still numbers."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class NumericalReport:
    """Names of parameters that hold a NaN or infinity, and of those whose gradient does."""

    parameters: tuple[str, ...]
    gradients: tuple[str, ...]

    @property
    def stable(self) -> bool:
        """Whether everything is finite."""
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
