"""State of a process at its end beside tensors: settings of optimizers, and each of the other kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..kinds import Kind, kinds
from ..trace.extra_state import describe
from ..trace.kinds import recorded
from ..trace.paths import Patterns


class Held:
    """Gathers settings; ``unstable`` names fields that are left out."""

    def __init__(self, unstable: Patterns) -> None:
        self._unstable = unstable
        self._kinds = kinds()
        self._of_steps = [kind for kind in self._kinds if type(kind).step is not Kind.step]
        self.reset()

    def reset(self) -> None:
        """Forget what other processes hold."""
        self._optimizers: dict[int, dict[str, str]] = {}

    def install(self) -> None:
        """Have every kind listen."""
        for kind in self._kinds:
            kind.install()

    def optimizer(self, number: int, groups: Sequence[Mapping[str, Any]]) -> list[torch.Tensor]:
        """Note the settings of an optimizer; its parameters in group order."""
        found: dict[str, str] = {}
        for index, group in enumerate(groups):
            rest = {key: value for key, value in group.items() if key != "params"}
            found |= describe(rest, self._unstable, f"group {index}")
        params = [parameter for group in groups for parameter in group["params"]]
        for place, parameter in enumerate(params):
            grad = parameter.grad
            if grad is not None and grad.layout is torch.sparse_coo:
                found[f"gradient {place} is coalesced"] = str(grad.is_coalesced())
        self._optimizers[number] = found
        return params

    def step(self, *, last: bool = False) -> dict[str, object]:
        """Return what the kinds of a step hold now, as its record has it."""
        found = (each for kind in self._of_steps for each in kind.step(self._unstable, last=last))
        return recorded(dict(found))

    def unread(self) -> list[str]:
        """Name what was too much for a kind to keep."""
        kinds = [(kind.beyond, type(kind).__module__.rpartition(".")[2]) for kind in self._kinds]
        return [f"{beyond} more {name}" for beyond, name in kinds if beyond]

    def facts(self) -> dict[str, Any]:
        """Return all of it: the settings of optimizers by number, and what each kind holds by title."""
        taken = {title: fields for kind in self._kinds for title, fields in kind.take(self._unstable)}
        return {"optimizers": self._optimizers, "kinds": taken}
