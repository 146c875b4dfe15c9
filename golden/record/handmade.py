"""A clock for programs that update their weights by hand: a step is a backward pass.

What torch.optim steps announces itself. Without it, each backward pass is taken for a step: of the leaves of
its graph, as they are when it ends. So a step shows what the update before it made of the weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from ..trace.digest import tensors_in


class BackwardPass:
    """Takes the place of an optimizer: one group of tensors, no state. Its name is the class in a layout."""

    def __init__(self) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": []}]
        self.state: dict[torch.Tensor, dict[str, Any]] = {}


class Handmade:
    """Calls ``on_step`` after each backward pass of a program that has made no optimizer."""

    def __init__(self, on_step: Callable[[BackwardPass], None]) -> None:
        self._on_step = on_step
        self._ended = False
        self._passes: dict[tuple[Any, ...], BackwardPass] = {}

    def install(self) -> None:
        """Watch for the first optimizer, which ends this clock."""
        made: Any = Optimizer.__init__

        @functools.wraps(made)
        def observed_init(*args: Any, **kwargs: Any) -> None:
            self._ended = True
            made(*args, **kwargs)

        Optimizer.__init__ = observed_init  # type: ignore[method-assign]

    def observed_backward(self, backward: Callable[..., Any], tensors: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a backward pass; without an optimizer, take it for a step of the leaves of its graph."""
        if self._ended:
            return backward(tensors, *args, **kwargs)
        found = leaves(tensors_in(tensors))
        result = backward(tensors, *args, **kwargs)
        if found:
            # Weights that are made anew at each step keep their form.
            form = tuple((tensor.dtype, tensor.shape) for tensor in found)
            step = self._passes.setdefault(form, BackwardPass())
            step.param_groups[0]["params"][:] = found
            self._on_step(step)
        return result


def leaves(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors that a backward pass would accumulate gradients in, in the order of the graph."""
    found: list[torch.Tensor] = []
    seen: set[Any] = set()
    stack: list[Any] = [tensor.grad_fn for tensor in reversed(tensors)]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor):
            found.append(variable)
        stack += [following for following, _ in reversed(node.next_functions)]
    return found
