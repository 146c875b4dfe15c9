"""Building modules whose initial weights come from a given generator and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Generator, nn

ModuleT = TypeVar("ModuleT", bound=nn.Module)

EMBEDDING_BOUND = 0.1


def materialise(build: Callable[[], ModuleT], generator: Generator) -> ModuleT:
    """The module that `build` makes, on the CPU, initialised from `generator`.

    Torch's constructors draw from the global random state; building on the meta device draws nothing.
    """
    with torch.device("meta"):
        module = build()
    module.to_empty(device=generator.device)
    initialise(module, generator)
    return module


def initialise(module: nn.Module, generator: Generator) -> None:
    """Fill all parameters and buffers of `module`; TypeError for a layer that no rule covers."""
    for name, layer in module.named_modules():
        if not any(True for _ in layer.parameters(recurse=False)):
            continue
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.Linear):
            bound = 1.0 / math.sqrt(layer.in_features)
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
        elif isinstance(layer, nn.Embedding):
            nn.init.uniform_(layer.weight, -EMBEDDING_BOUND, EMBEDDING_BOUND, generator=generator)
        elif isinstance(layer, nn.BatchNorm2d | nn.GroupNorm | nn.LayerNorm):
            # Draws nothing: weights one, biases zero, running statistics as new.
            layer.reset_parameters()
        else:
            raise TypeError(f"no initialisation rule for {type(layer).__name__} at {name or 'the root'!r}")
