"""A queue in front of an output: full means wait, an error ends the run, nothing is dropped."""

import threading
from typing import Any

import pytest

from esper.leyline.telemetry import SeedGerminated, TelemetryEvent
from esper.nissa import QueuedOutput, TelemetryHub


def germinated(number: int) -> TelemetryEvent:
    return TelemetryEvent(SeedGerminated(seed_id=str(number), blueprint="norm", params=number, alpha=0.0))


class Gated:
    """An output that takes nothing until it is told to."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.numbers: list[int] = []
        self.closed = False

    def emit(self, event: Any) -> None:
        assert self.open.wait(10)
        self.numbers.append(event.data.params)

    def close(self) -> None:
        self.closed = True


def test_a_full_queue_makes_the_caller_wait_and_drops_nothing() -> None:
    slow = Gated()
    output = QueuedOutput(slow, capacity=2)
    progress: list[int] = []

    def produce() -> None:
        for number in range(50):
            output.emit(germinated(number))
            progress.append(number)

    producer = threading.Thread(target=produce)
    producer.start()
    producer.join(0.2)
    assert producer.is_alive()
    assert len(progress) <= 3  # one in the output's hands, two in the queue
    slow.open.set()
    producer.join(10)
    output.close()
    assert slow.numbers == list(range(50))
    assert slow.closed


def test_an_error_of_the_output_reaches_the_caller() -> None:
    class Broken(Gated):
        def emit(self, event: Any) -> None:
            raise OSError("disk full")

    output = QueuedOutput(Broken(), capacity=1)

    def produce() -> None:
        for number in range(1_000):
            output.emit(germinated(number))

    with pytest.raises(OSError, match="disk full"):
        produce()
    output.close()


def test_an_error_at_the_very_end_is_raised_by_close() -> None:
    class Broken(Gated):
        def emit(self, event: Any) -> None:
            assert self.open.wait(10)
            raise OSError("disk full")

    slow = Broken()
    output = QueuedOutput(slow)
    output.emit(germinated(1))
    slow.open.set()
    with pytest.raises(OSError, match="disk full"):
        output.close()
    assert slow.closed
    output.close()


def test_the_order_is_the_same_with_and_without_a_queue() -> None:
    direct, queued = Gated(), Gated()
    direct.open.set()
    queued.open.set()
    hub = TelemetryHub()
    with hub.attached(direct, QueuedOutput(queued, capacity=3)):
        for number in range(500):
            hub.emit(germinated(number))
    assert direct.numbers == queued.numbers == list(range(500))
