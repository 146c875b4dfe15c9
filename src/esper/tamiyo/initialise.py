"""Initial weights of the policy, from a given generator."""

from __future__ import annotations

import math

from torch import Generator, nn

SMALL_GAIN = 0.01
FORGET_BIAS = 1.0


def initialise_policy(policy: nn.Module, generator: Generator) -> None:
    """Uniform weights scaled by fan-in; heads near zero; the LSTM remembers at first.

    Not orthogonal, as is common: a matrix factorisation's bits differ between processors.
    """
    for name, layer in policy.named_modules():
        if isinstance(layer, nn.Linear):
            gain = SMALL_GAIN if name == "heads" else 1.0
            bound = gain * math.sqrt(3.0 / layer.in_features)
            nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
            nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.LSTM):
            _initialise_lstm(layer, generator)
        elif isinstance(layer, nn.LayerNorm):
            layer.reset_parameters()
        elif next(layer.parameters(recurse=False), None) is not None:
            raise TypeError(f"no initialisation rule for {type(layer).__name__} at {name!r}")


def _initialise_lstm(layer: nn.LSTM, generator: Generator) -> None:
    bound = 1.0 / math.sqrt(layer.hidden_size)
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        else:
            nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                # Gates are packed as input, forget, cell, output.
                nn.init.constant_(parameter.detach()[layer.hidden_size : 2 * layer.hidden_size], FORGET_BIAS)
