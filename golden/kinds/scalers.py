"""Gradient scalers: scale, growth, and how far it is."""

from __future__ import annotations

import functools
from typing import Any

from torch.amp.grad_scaler import GradScaler

from ..trace.extra_state import describe
from ..trace.paths import Patterns
from . import Kind, Titled

_AT_MOST = 64


class Observed(Kind):
    """Scalers of torch that are enabled, in the order in which they are made."""

    def __init__(self) -> None:
        # Their fields: a scaler may go before the end.
        self._scalers: list[dict[str, Any]] = []

    def install(self) -> None:
        """Listen to scalers that are made."""
        begin: Any = GradScaler.__init__

        @functools.wraps(begin)
        def observed_init(scaler: Any, /, *args: Any, **kwargs: Any) -> None:
            begin(scaler, *args, **kwargs)
            if not scaler.is_enabled():
                return
            # One that a program derives may hold anything, which would live on with its fields.
            if not type(scaler).__module__.startswith("torch.") or len(self._scalers) >= _AT_MOST:
                self.beyond += 1
            else:
                self._scalers.append(vars(scaler))

        GradScaler.__init__ = observed_init  # type: ignore[method-assign, assignment]

    def take(self, unstable: Patterns) -> Titled:
        """Yield the fields of each."""
        for index, fields in enumerate(self._scalers):
            own = {k.lstrip("_"): value for k, value in fields.items() if k != "_per_optimizer_states"}
            yield f"gradient scaler {index}", dict(describe(own, unstable, "scaler"))
