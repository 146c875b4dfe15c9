"""Streams and events with happens-before clocks: a race is an access that did not wait for the one before."""

from __future__ import annotations

import bisect
import contextlib
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import torch

from . import internals
from .memory import BLOCK, MEMORY
from .mistakes import FORKED
from .syncs import SYNCS, Place, title

Clock = dict[int, int]
# An access: the stream that it was queued on, as which operation, and the line.
Use = tuple["Stream", int, Place]


def merge(into: Clock, other: Clock) -> None:
    """Know all that ``other`` knows."""
    for number, seen in other.items():
        if into.get(number, 0) < seen:
            into[number] = seen


class _Awaited:
    """Operations that the host can wait for."""

    _asked: Clock | None = None

    def known(self) -> Clock:
        """The clock of what is done when all of them are done."""
        raise NotImplementedError

    def synchronize(self) -> None:
        SYNCS.note("synchronize")
        host_waits(self.known())

    def query(self) -> bool:
        """Tell whether all is done; what is asked for twice has been done meanwhile."""
        known, before = self.known(), self._asked
        self._asked = known
        if known == before:
            host_waits(known)
        return all(HOST.get(number, 0) >= seen for number, seen in known.items())


class Stream(_Awaited):
    """A queue of operations of a device, as ``torch.cuda.Stream``."""

    _numbers = 0
    all: ClassVar[weakref.WeakSet[Stream]] = weakref.WeakSet()

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.index = device_index("cuda" if device is None else device) or 0
        Stream._numbers += 1
        self.number, self.priority = Stream._numbers, priority
        self.device, self.memory = torch.device("cuda", self.index), MEMORY[self.index]
        self.clock: Clock = dict(HOST)
        self.seq = 0
        # Memory that was given back while other streams might still use it.
        self.freed: list[tuple[int, list[Use]]] = []
        self._before: list[tuple[Stream, Stream]] = []
        Stream.all.add(self)
        if self.number > 1:
            RACES.several = True

    @property
    def name(self) -> str:
        """The name in reports: without a number, so that two lines in a loop over streams are one row."""
        return "the default stream" if self is DEFAULTS.get(self.index) else "a side stream"

    # As torch numbers kinds of devices: CUDA's.
    device_type = 1
    device_index = property(lambda self: self.index)
    stream_id = cuda_stream = property(lambda self: 0 if self is DEFAULTS.get(self.index) else self.number)

    def known(self) -> Clock:
        return {**self.clock, self.number: self.seq}

    def wait_stream(self, stream: Any) -> None:
        merge(self.clock, _ours(stream).known())

    def wait_event(self, event: Event) -> None:
        merge(self.clock, event.clock)

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -3

    def is_capturing(self) -> bool:
        return False

    def __enter__(self) -> Stream:
        self._before.append((current(self.index), current(None)))
        set_current(self)
        return self

    def __exit__(self, *_: Any) -> None:
        there, here = self._before.pop()
        set_current(there)
        CURRENT.device = here.index

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.stream_id:#x}>"


class Event(_Awaited):
    """A mark in a queue, as ``torch.cuda.Event``, or ``torch.Event``, whose first argument is a device."""

    def __init__(self, first: Any = None, *_: Any, enable_timing: bool = False, **__: Any) -> None:
        self.clock: Clock = {}
        self.timed, self.recorded = enable_timing or first is True, False

    def known(self) -> Clock:
        return self.clock

    def record(self, stream: Any = None) -> None:
        self.clock, self.recorded = _ours(stream).known(), True

    def wait(self, stream: Any = None) -> None:
        merge(_ours(stream).clock, self.clock)

    def elapsed_time(self, end_event: Event) -> float:
        if not (self.timed and end_event.timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.recorded and end_event.recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return 1.0


class State:
    """Accesses and size of one storage of a device: shared by all tensors that are views of it.

    Attributes:
        made: the operation that made it; its stream is the one that the memory belongs to.
        recorded: the numbers of the streams of ``record_stream``.
    """

    __slots__ = ("made", "reads", "recorded", "size", "write")

    def __init__(self, size: int, made: Use) -> None:
        self.size = -(-size // BLOCK) * BLOCK
        self.made = self.write = made
        self.reads: dict[int, Use] | None = None
        self.recorded: set[int] | None = None
        stream = made[0]
        stream.memory.add(self.size, made[2])
        if stream.freed:
            RACES.given(self)

    def resize(self, size: int) -> None:
        """Count the storage with another size."""
        stream, _, where = self.made
        stream.memory.remove(self.size, where)
        self.size = -(-size // BLOCK) * BLOCK
        stream.memory.add(self.size, where)

    def __del__(self) -> None:
        stream, _, where = self.made
        stream.memory.remove(self.size, where)
        if RACES.several:
            RACES.free(self)


class _Current(threading.local):
    """The current device and streams of one thread, and at which autograd nodes the stream changed.

    Attributes:
        call: the call of torch that the thread is in and whose operations are observed.
        place: where the program is, for the operations that C++ makes of the innermost such call.
    """

    def __init__(self) -> None:
        self.call: tuple[Any, Any, Any] | None = None
        self.place: Place | None = None
        self.device = 0
        self.streams: dict[int, Stream] = {}
        self.changes: dict[int, list[tuple[int, Stream]]] = {}
        self.backward: list[Stream] | None = None


class Races:
    """Accesses that did not wait for each other, by both lines."""

    def __init__(self) -> None:
        self.found: Counter[tuple[str, Place, Place]] = Counter()
        # With one stream nothing can race, and nobody pays for looking.
        self.several = False

    def access(self, state: State, stream: Stream, writes: bool, where: Place) -> None:
        """Note that an operation that was just queued on a stream reads or writes a storage."""
        clock, write = stream.clock, state.write
        if write[0] is not stream and clock.get(write[0].number, 0) < write[1]:
            self._race("write" if writes else "read", where, stream, "write", write)
        if not writes:
            if state.reads is None:
                state.reads = {}
            state.reads[stream.number] = (stream, stream.seq, where)
            return
        for read in (state.reads or {}).values():
            if read[0] is not stream and clock.get(read[0].number, 0) < read[1]:
                self._race("write", where, stream, "read", read)
        state.write, state.reads = (stream, stream.seq, where), None

    def _race(self, what: str, where: Place, stream: Stream, other: str, before: Use) -> None:
        self._note(f"{what} on {stream.name} did not wait for the {other} on {before[0].name}", where, before)

    def _note(self, said: str, where: Place, before: Use) -> None:
        if not SYNCS.muted:
            self.found[said, where, before[2]] += 1

    def free(self, state: State) -> None:
        """Remember memory that is given back while another stream may still use it."""
        stream, known = state.made[0], state.recorded or ()
        uses = [use for use in (state.write, *(state.reads or {}).values()) if use[0] is not stream]
        late = [use for use in uses if use[0].number not in known and _pending(stream, use)]
        if late:
            stream.freed.append((state.size, late))

    def given(self, state: State) -> None:
        """Look whether a new storage may get memory that another stream still uses."""
        stream, _, where = state.made
        left = []
        for size, uses in stream.freed:
            late = [use for use in uses if _pending(stream, use)]
            if late and size >= state.size > 0:
                said = (
                    f"memory made for {stream.name} is given to another tensor while {late[0][0].name} may "
                    "still use it: `record_stream` is missing"
                )
                self._note(said, where, late[0])
            elif late:
                left.append((size, late))
        stream.freed = left

    def rows(self) -> list[dict[str, Any]]:
        """One row for each pair of lines."""
        return [
            {"what": said, "place": title(where), "other": title(before), "count": count}
            for (said, where, before), count in self.found.most_common()
        ]


def _pending(stream: Stream, use: Use) -> bool:
    number = use[0].number
    return stream.clock.get(number, 0) < use[1] and HOST.get(number, 0) < use[1]


# How many devices there are: none in a process that may not use them.
DEVICES = [1]
HOST: Clock = {}
RACES = Races()
CURRENT = _Current()
DEFAULTS: dict[int, Stream] = {}
# What is to be done when the host has waited: copies that have arrived are given their values.
ARRIVALS: list[Any] = []


def device_index(device: Any) -> int | None:
    """The number of a simulated device, or None for one that is not; an error for one that isn't there."""
    if isinstance(device, str):
        device = torch.device(device)
    if type(device) is int:
        device = torch.device("cuda", device)
    if not isinstance(device, torch.device) or device.type != "cuda":
        return None
    index = CURRENT.device if device.index is None else device.index
    if index >= DEVICES[0]:
        raise RuntimeError("CUDA error: invalid device ordinal" if DEVICES[0] else FORKED)
    return index


def _ours(stream: Any) -> Stream:
    return stream if isinstance(stream, Stream) else current(None)


def current(index: int | None) -> Stream:
    """The current stream of a device in this thread."""
    index = CURRENT.device if index is None else index
    return CURRENT.streams.get(index) or default(index)


def default(index: int) -> Stream:
    """The default stream of a device."""
    if index not in DEFAULTS:
        DEFAULTS[index] = Stream(index)
    return DEFAULTS[index]


def set_current(stream: Stream) -> None:
    """Make a stream the current one of its device, and that device the current one."""
    number = internals.sequence_number()
    if number is not None:
        CURRENT.changes.setdefault(stream.index, []).append((number, stream))
    CURRENT.streams[stream.index], CURRENT.device = stream, stream.index


def of_operation(index: int) -> Stream:
    """The stream that an operation goes to: in a backward pass, that of the forward operation."""
    if not RACES.several:
        return DEFAULTS.get(index) or default(index)
    stream, passed, changes = current(index), CURRENT.backward, CURRENT.changes.get(index)
    if passed is None or not changes:
        return stream
    node = internals.backward_node()
    if node is None:
        return stream
    at = bisect.bisect_right(changes, node, key=lambda change: change[0])
    if node >= 1 << 62:
        stream = next((one for one in reversed(passed) if one.index == index), stream)
    else:
        stream = changes[at - 1][1] if at else default(index)
    if stream is not passed[-1]:
        # The engine has each node's stream wait for those of the nodes that its gradients come from.
        merge(stream.clock, passed[-1].known())
        passed.append(stream)
    return stream


@contextlib.contextmanager
def backward(index: int) -> Iterator[None]:
    """A backward pass: at its end the current stream waits for all that were used."""
    outer, CURRENT.backward = CURRENT.backward, [current(index)]
    try:
        yield
    finally:
        for stream in CURRENT.backward:
            merge(current(index).clock, stream.known())
        CURRENT.backward = outer


def queue(stream: Stream) -> None:
    """Put one more operation into a queue: it runs after all that the host has waited for."""
    merge(stream.clock, HOST)
    stream.seq += 1


def host_waits(clock: Clock) -> None:
    """Note that the host has waited for what a clock knows."""
    merge(HOST, clock)
    if ARRIVALS:
        ARRIVALS[:] = [arrival for arrival in ARRIVALS if not arrival()]


def done(stream: Stream, seq: int) -> bool:
    """Tell whether the host has waited for an operation."""
    return HOST.get(stream.number, 0) >= seq
