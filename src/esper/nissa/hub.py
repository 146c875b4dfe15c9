"""The hub: events in, the same events in the same order out to every output."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

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

    def add_output(self, output: TelemetryOutput) -> None:
        """Send all later events to an output as well."""
        self._outputs.append(output)

    def remove_output(self, output: TelemetryOutput) -> None:
        """Stop sending to an output; it is not closed."""
        self._outputs.remove(output)

    @contextmanager
    def attached(self, *outputs: TelemetryOutput) -> Iterator["TelemetryHub"]:
        """Send events to outputs inside the block; close each at its end, also when it or another fails.

        The first error is the one that is raised: an output that failed may fail again when it is closed.
        """
        errors: list[BaseException] = []
        for output in outputs:
            self.add_output(output)
        try:
            yield self
        except BaseException as error:
            errors.append(error)
        for output in reversed(outputs):
            self.remove_output(output)
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
