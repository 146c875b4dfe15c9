"""The hub that events go to, and outputs by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from esper.leyline.errors import InputError, OutputError
from esper.leyline.telemetry import TelemetryEvent


class TelemetryOutput(Protocol):
    """Where events go."""

    def emit(self, event: TelemetryEvent) -> None:
        """Take one event; an error here ends the run, since an event would be lost."""
        ...

    def close(self) -> None:
        """Finish; no event comes after this."""
        ...


class TelemetryHub:
    """Hands every event, on the caller's thread, to each output in turn; nothing is queued, so nothing
    can be dropped.

    `counts` has the events by type, whatever the number of outputs.
    """

    def __init__(self) -> None:
        self._outputs: list[TelemetryOutput] = []
        self.counts: Counter[str] = Counter()

    def emit(self, event: TelemetryEvent) -> None:
        """Count an event and pass it on."""
        self.counts[event.event_type.value] += 1
        for output in self._outputs:
            output.emit(event)

    @contextmanager
    def attached(self, *outputs: TelemetryOutput) -> Iterator[TelemetryHub]:
        """Send events to outputs inside the block; close each at its end, also when it or another fails.

        The first error is the one that is raised: an output that failed may fail again when it is closed.
        """
        errors: list[BaseException] = []
        for output in outputs:
            self._outputs.append(output)
        try:
            yield self
        except BaseException as error:
            errors.append(error)
        for output in reversed(outputs):
            self._outputs.remove(output)
            try:
                output.close()
            except BaseException as error:
                errors.append(error)
        if errors:
            raise errors[0]


_hub = TelemetryHub()


def get_hub() -> TelemetryHub:
    """The hub of this process."""
    return _hub


GROUP = "esper.telemetry_outputs"
"""Entry points of this group are functions from the telemetry folder to an output."""

MakeOutput = Callable[[Path], TelemetryOutput]


def make_output(name: str, folder: Path) -> TelemetryOutput:
    """An output of a name. Raises InputError for an unknown one, or one that can't be loaded."""
    return _Named(name, _factory(name)(folder))


class _Named:
    """An output whose trouble with its files is told in one line."""

    def __init__(self, name: str, output: TelemetryOutput) -> None:
        self._name = name
        self._output = output

    def emit(self, event: TelemetryEvent) -> None:
        with self._told():
            self._output.emit(event)

    def close(self) -> None:
        with self._told():
            self._output.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"--telemetry-outputs {self._name}: cannot be written ({error.strerror or error}); the other "
                f"outputs have what came before"
            ) from error


def _factory(name: str) -> MakeOutput:
    if name == "tensorboard":
        from esper.nissa.tensorboard import TensorBoardOutput

        return TensorBoardOutput
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(["tensorboard", *sorted(found)])
        raise InputError(f"--telemetry-outputs {name}: no such output; known are {known}")
    try:
        factory: MakeOutput = found[name].load()
    except Exception as error:  # whatever a foreign module raises when it is imported
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"--telemetry-outputs {name}: cannot be loaded ({problem})") from error
    return factory
