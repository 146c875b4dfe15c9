"""Outputs by name: those that come with the trainer, and others that packages register."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

from esper.leyline.errors import InputError, OutputError
from esper.leyline.telemetry import TelemetryEvent
from esper.nissa.hub import TelemetryOutput
from esper.nissa.queued import QueuedOutput

GROUP = "esper.telemetry_outputs"
"""Entry points of this group are functions from the telemetry folder to an output."""

MakeOutput = Callable[[Path], TelemetryOutput]


def make_output(name: str, folder: Path) -> TelemetryOutput:
    """An output of a name, on a thread of its own. Raises InputError for an unknown one, or one that can't be
    loaded.
    """
    return QueuedOutput(_Named(name, _factory(name)(folder)))


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
