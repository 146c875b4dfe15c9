"""Learning-rate schedulers: the rates that they hold, and what decides the next ones.

A rate that an optimizer takes is compared at every step anyway; this is what would come after the last one,
and which step a schedule has come to, which no rate may show for long.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from torch.optim import lr_scheduler

from ..trace.extra_state import describe
from ..trace.paths import Patterns
from . import Kind, Titled

_AT_MOST = 64
# The optimizer has its own steps; what a scheduler calls is told by the rates.
_NOT_ITS_OWN = ("optimizer", "_optimizer", "lr_lambdas", "_schedulers", "_initial_step")


class Observed(Kind):
    """Schedulers in the order in which they are made, each as it was after it was made or stepped last."""

    def __init__(self) -> None:
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        # Not the schedulers: they would keep optimizers and models alive.
        self._fields: list[tuple[str, dict[str, Any]]] = []
        # By number, those that were looked at since the step before.
        self._looked: set[int] = set()

    def install(self) -> None:
        """Look at a scheduler each time that it is made or stepped."""
        classes = [each for each in vars(lr_scheduler).values() if isinstance(each, type)]
        for kind in {each for each in classes if issubclass(each, lr_scheduler.LRScheduler)}:
            for name in vars(kind).keys() & {"__init__", "step"}:
                setattr(kind, name, self._looking(vars(kind)[name]))

    def _looking(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def observed_method(scheduler: Any, /, *args: Any, **kwargs: Any) -> Any:
            found = method(scheduler, *args, **kwargs)
            self._look(scheduler)
            return found

        return observed_method

    def _look(self, scheduler: Any) -> None:
        fields = {key: value for key, value in vars(scheduler).items() if key not in _NOT_ITS_OWN}
        number = self._numbers.setdefault(scheduler, len(self._fields) + self.beyond)
        if number >= _AT_MOST:
            self.beyond = max(self.beyond, number + 1 - _AT_MOST)
            return
        if number == len(self._fields):
            self._fields.append((type(scheduler).__name__, {}))
        self._fields[number][1].update(fields)
        self._looked.add(number)

    def take(self, unstable: Patterns) -> Titled:
        """Yield the fields of each, as they were last."""
        for index, (name, fields) in enumerate(self._fields):
            yield f"scheduler {index} ({name})", dict(describe(fields, unstable, "scheduler"))

    def step(self, unstable: Patterns, *, last: bool) -> Titled:
        """Yield the numbers of each that was stepped since the step before; the last are taken in full."""
        looked, self._looked = sorted(self._looked), set()
        for index in () if last else looked:
            name, fields = self._fields[index]
            numbers = {key: value for key, value in fields.items() if isinstance(value, (int, float))}
            yield f"scheduler {index} ({name})", dict(describe(numbers, unstable, "scheduler"))
