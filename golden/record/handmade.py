"""A clock for programs that update their weights by hand: a step is a backward pass.

What torch.optim steps announces itself. Without it, each backward pass (or call of torch.autograd.grad, which
torch.func uses) is taken for a step: of the tensors that its gradients are of, as they are when it ends. So a
step shows what the update before it made of the weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer


class BackwardPass:
    """Takes the place of an optimizer: one group of tensors, no state. Its name is the class in a layout."""

    def __init__(self) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": []}]
        self.state: dict[torch.Tensor, dict[str, Any]] = {}


class Handmade:
    """Calls ``on_step`` after each backward pass of a program that has made no optimizer."""

    def __init__(self, on_step: Callable[[BackwardPass], None]) -> None:
        self._on_step = on_step
        self._passes: dict[tuple[Any, ...], BackwardPass] = {}
        self._active = True
        self._inside = False

    def install(self, on_optimizer: Callable[[], None]) -> None:
        """Watch for the first optimizer, which ends this clock, and for calls of torch.autograd.grad."""
        made: Any = Optimizer.__init__

        @functools.wraps(made)
        def init(*args: Any, **kwargs: Any) -> None:
            self._active = False
            on_optimizer()
            made(*args, **kwargs)

        Optimizer.__init__ = init  # type: ignore[method-assign]
        original = torch.autograd.grad

        @functools.wraps(original)
        def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(outputs, inputs, *args, **kwargs)
            if not torch.compiler.is_compiling() and self._active and not self._inside:
                self._step([*_tensors(inputs), *_tensors(found)])
            return found

        torch.autograd.grad = grad

    def backward(self, backward: Callable[..., Any], tensors: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a backward pass and take it for a step of the leaves of its graph."""
        found = leaves(_tensors(tensors))
        self._inside = True
        try:
            result = backward(tensors, *args, **kwargs)
        finally:
            self._inside = False
        self._step(found)
        return result

    def _step(self, tensors: list[torch.Tensor]) -> None:
        tensors = list({id(tensor): tensor for tensor in map(_plain, tensors)}.values())
        if not tensors:
            return
        # Weights that are made anew at each step keep their form.
        form = tuple((tensor.dtype, tensor.shape) for tensor in tensors)
        step = self._passes.setdefault(form, BackwardPass())
        step.param_groups[0]["params"][:] = tensors
        self._on_step(step)


def leaves(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors that a backward pass would accumulate gradients in, in the order of the graph."""
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


def _tensors(tree: Any) -> list[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [tensor for tensor in tree if isinstance(tensor, torch.Tensor)]
    return []


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as it is outside the transforms of torch.func."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor
