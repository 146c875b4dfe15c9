"""What a process holds at its end beside tensors: settings of optimizers, of gradient scalers and its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler

from .extra_state import describe

_AT_MOST = 64
# What a process has set for itself, and how it is asked for.
_SETTINGS: Mapping[str, Callable[[], Any]] = {
    "default dtype": torch.get_default_dtype,
    "default device": torch.get_default_device,
    "gradients are recorded": torch.is_grad_enabled,
    "precision of float32 products": torch.get_float32_matmul_precision,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "threads": torch.get_num_threads,
    "anomaly detection": torch.is_anomaly_enabled,
    "cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
}


class Held:
    """Gathers settings; ``unstable`` names fields that are left out."""

    def __init__(self, unstable: Sequence[str]) -> None:
        self._unstable = unstable
        # Their fields: a scaler may go before the end.
        self._scalers: list[dict[str, Any]] = []
        self.reset()

    def reset(self) -> None:
        """Forget what other processes hold."""
        self._optimizers: dict[int, dict[str, str]] = {}

    def install(self) -> None:
        """Listen to scalers that are made."""
        begin: Any = GradScaler.__init__

        @functools.wraps(begin)
        def init(scaler: Any, /, *args: Any, **kwargs: Any) -> None:
            begin(scaler, *args, **kwargs)
            # One that a program derives may hold anything, which would live on with its fields.
            if type(scaler).__module__.startswith("torch.") and len(self._scalers) < _AT_MOST:
                self._scalers.append(vars(scaler))

        GradScaler.__init__ = init  # type: ignore[method-assign, assignment]

    def optimizer(self, number: int, groups: Sequence[Mapping[str, Any]]) -> list[torch.Tensor]:
        """Note the settings of an optimizer; its parameters in group order."""
        found: dict[str, str] = {}
        for index, group in enumerate(groups):
            rest = {key: value for key, value in group.items() if key != "params"}
            found |= describe(rest, self._unstable, set(), f"group {index}")
        params = [parameter for group in groups for parameter in group["params"]]
        for place, parameter in enumerate(params):
            grad = parameter.grad
            if grad is not None and grad.layout is torch.sparse_coo:
                found[f"gradient {place} is coalesced"] = str(grad.is_coalesced())
        self._optimizers[number] = found
        return params

    def facts(self) -> dict[str, Any]:
        """All of it: the settings of optimizers by number, of scalers in order, and of the process."""
        scalers = [
            dict(describe(_of_scaler(fields), self._unstable, set(), "scaler"))
            for fields in self._scalers
            if fields.get("_enabled")
        ]
        return {
            "optimizers": self._optimizers,
            "scalers": scalers,
            "process": {name: _asked(ask) for name, ask in _SETTINGS.items()},
        }


def _of_scaler(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name.lstrip("_"): value for name, value in fields.items() if name != "_per_optimizer_states"}


def _asked(ask: Callable[[], Any]) -> str:
    try:
        return str(ask())
    except RuntimeError as error:
        # Settings of two interfaces that contradict each other.
        return type(error).__name__
