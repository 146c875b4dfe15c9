"""An output on a thread of its own, behind a bounded queue that blocks when it is full."""

from __future__ import annotations

import queue
import threading

from esper.leyline.telemetry import TelemetryEvent
from esper.nissa.hub import TelemetryOutput

CAPACITY = 1_024


class QueuedOutput:
    """Passes events on to a slow output in their order, without holding up training in a burst.

    A full queue makes the caller wait: no event is dropped. An error of the output is raised by the next
    `emit` or by `close`.
    """

    def __init__(self, output: TelemetryOutput, *, capacity: int = CAPACITY) -> None:
        self._output = output
        self._events: queue.Queue[TelemetryEvent | None] = queue.Queue(capacity)
        self._error: BaseException | None = None
        self._failed = False
        self._closed = False
        self._thread = threading.Thread(target=self._drain, name="telemetry", daemon=True)
        self._thread.start()

    def emit(self, event: TelemetryEvent) -> None:
        """Put one event into the queue; waits while it is full."""
        self._raise_error()
        self._events.put(event)

    def close(self) -> None:
        """Wait until every event has reached the output, and close it."""
        if not self._closed:
            self._closed = True
            self._events.put(None)
            self._thread.join()
            self._output.close()
        self._raise_error()

    def _drain(self) -> None:
        while (event := self._events.get()) is not None:
            if self._failed:
                continue  # the run ends by that error; nobody may wait for a full queue until then
            try:
                self._output.emit(event)
            except BaseException as error:
                self._error, self._failed = error, True

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
