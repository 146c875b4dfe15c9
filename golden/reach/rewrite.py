"""Code objects of Python 3.11 that note each line when it first runs, and otherwise do what they did.

Before the first instruction of each line stand others, which set one byte of a buffer, then make the jump
that they begin with lead past them: from then on the line costs that jump. What a program can see of its code
otherwise stays: names, positions of each instruction, and with them tracebacks and what a tracer is told, the
flow of control, what handles an exception. Jumps and the tables of lines and of handlers are made anew; see
Objects/exception_handling_notes.txt and Objects/locations.md of CPython 3.11 for their forms.
"""

from __future__ import annotations

import ctypes
import dis
import itertools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_EXTENDED = dis.opmap["EXTENDED_ARG"]
_JUMP = dis.opmap["JUMP_FORWARD"]
_LOAD = dis.opmap["LOAD_CONST"]
_RESUME = dis.opmap["RESUME"]
_STORE = dis.opmap["STORE_SUBSCR"]
# These are the second half of what stands before them.
_JOINED = {dis.opmap[name] for name in ("RESUME", "CALL", "PRECALL") if name in dis.opmap}
_CACHES: list[int] = list(getattr(dis, "_inline_cache_entries", ()))
_BACKWARD = {code for code, name in enumerate(dis.opname) if "BACKWARD" in name}
_JUMPS = set(dis.hasjrel)
_LONGEST = 8  # code units of an entry in the table of positions
_NO_COLUMNS, _LONG, _NONE = 13, 14, 15
_SMALL = [bytes((value,)) for value in range(64)]
_NEEDS = 3  # places on the stack
_LOADS = 6  # instructions of a note that have an argument

Position = tuple[int | None, int | None, int | None, int | None]
# Of a line, the index of its byte.
Index = Callable[[int], int]
# What was made, and of what, by the identity of the first.
Originals = dict[int, tuple[types.CodeType, types.CodeType]]


class Own(ctypes._Pointer):  # type: ignore[type-arg]
    """The instructions of the code object that holds it among its constants, to be written to."""

    _type_ = ctypes.c_ubyte
    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[type[dict[int, int]], tuple[()]]:
        # Code that another process reads goes on to note its lines each time.
        return dict, ()


class _Place(ctypes.Union):
    """A pointer that can be set without an event of the audit."""

    _fields_ = (("address", ctypes.c_size_t), ("own", Own))


@dataclass(slots=True)
class _Instruction:
    """One instruction; ``at`` is where it began, in code units, its first prefix included."""

    opcode: int
    argument: int
    at: int
    position: Position
    caches: int
    target: int | None = None
    noted: int | None = None
    start: int = 0
    # How many EXTENDED_ARG it has; never fewer than before, so that the search for places ends.
    prefixes: int = 0

    def take(self, argument: int) -> None:
        """Give it another argument."""
        self.argument = argument
        self.prefixes = max(self.prefixes, _prefixes(argument))

    @property
    def size(self) -> int:
        """Its code units, with those that hold what the interpreter learns."""
        return self.prefixes + 1 + self.caches


def _prefixes(argument: int) -> int:
    return (argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF)


def rewritten(code: types.CodeType, flags: Any, index: Index, originals: Originals) -> types.CodeType:
    """A code object, and all within it, that sets ``flags[index(line)]`` to 1 when a line first runs.

    Each is put into ``originals``, which must outlive it, with what it was made of.
    """
    made = _rewritten(code, flags, index, originals)
    originals[id(made)] = made, code
    return made


def _rewritten(code: types.CodeType, flags: Any, index: Index, originals: Originals) -> types.CodeType:
    constants: list[Any] = [
        rewritten(each, flags, index, originals) if isinstance(each, types.CodeType) else each
        for each in code.co_consts
    ]
    instructions = _instructions(code)
    handlers = _handlers(code)
    noted = _mark(instructions, {target for _, _, target, _ in handlers}, index)
    if not noted:
        return code.replace(co_consts=tuple(constants))
    place = _Place()
    note = _Note(len(constants), len(noted))
    starts = _lay_out(instructions, len(code.co_code) // 2, note.units)
    lines = sorted({each.noted for each in noted if each.noted is not None})
    jumps = [2 * (each.start - note.units) + 1 for each in noted]
    constants += [flags, 1, place.own, note.units - 1, *lines, *jumps]
    before = note.instructions(noted, {line: number for number, line in enumerate(lines)})
    made = code.replace(
        co_code=b"".join(before.get(each.at, b"") + _bytes(each) for each in instructions),
        co_consts=tuple(constants),
        co_linetable=b"".join(_positions(code.co_firstlineno, instructions, note.units)),
        co_exceptiontable=_moved(handlers, starts),
        co_stacksize=code.co_stacksize + _NEEDS,
    )
    place.address = instructions_of(made)
    return made


def instructions_of(code: types.CodeType) -> int:
    """The address of the instructions that the interpreter runs."""
    return id(code) + types.CodeType.__basicsize__


class _Note:
    """What notes a line, made of constants from ``first`` on; as long for each of ``amount`` places."""

    def __init__(self, first: int, amount: int) -> None:
        # Flags, the one, the code's own instructions, the length; then lines and jumps, a place each at most.
        self._first = first
        self._prefixes = _prefixes(first + 4 + 2 * amount)
        self.units = 1 + _LOADS * (1 + self._prefixes) + 2 * (1 + _CACHES[_STORE])

    def instructions(self, noted: list[_Instruction], places: dict[int, int]) -> dict[int, bytes]:
        """By where each of the instructions began, what is put before it; ``places`` are those of lines."""
        flags, one, own, length = (self._load(self._first + number) for number in range(4))
        lines = self._first + 4
        jumps = lines + len(places)
        store = bytes((_STORE, 0)) + bytes(2 * _CACHES[_STORE])
        jump, set_one, skip = bytes((_JUMP, 0)), one + flags, length + own
        found = {}
        for number, each in enumerate(noted):
            assert each.noted is not None
            line, at = self._load(lines + places[each.noted]), self._load(jumps + number)
            found[each.at] = b"".join((jump, set_one, line, store, skip, at, store))
        return found

    def _load(self, constant: int) -> bytes:
        found = bytearray()
        for shift in range(self._prefixes, 0, -1):
            found += bytes((_EXTENDED, constant >> 8 * shift & 0xFF))
        return bytes(found + bytes((_LOAD, constant & 0xFF)))


def _instructions(code: types.CodeType) -> list[_Instruction]:
    data, positions = code.co_code, list(code.co_positions())
    found = []
    at, argument, begun = 0, 0, 0
    units = len(data) // 2
    while at < units:
        opcode = data[2 * at]
        argument = argument << 8 | data[2 * at + 1]
        if opcode == _EXTENDED:
            at += 1
            continue
        caches = _CACHES[opcode]
        after = at + 1 + caches
        each = _Instruction(opcode, argument, begun, positions[at], caches)
        each.prefixes = _prefixes(argument)
        if opcode in _JUMPS:
            each.target = after + (-argument if opcode in _BACKWARD else argument)
        found.append(each)
        at = begun = after
        argument = 0
    return found


def _mark(instructions: list[_Instruction], handlers: set[int], index: Index) -> list[_Instruction]:
    """Choose where lines are noted: where the line changes, and where control comes from another one.

    What comes from the same line needs no note, and must have none: the loop that awaits something jumps back
    to itself, of which a tracer is not told.
    """
    comes_from: dict[int, set[int | None]] = {}
    for each in instructions:
        if each.target is not None:
            comes_from.setdefault(each.target, set()).add(each.position[0])
    first = next((i for i, each in enumerate(instructions) if each.opcode == _RESUME), len(instructions))
    line: int | None = None
    found = []
    for each in instructions[first + 1 :]:
        here = each.position[0]
        if here is None:
            # Control may come from anywhere to what has no line.
            line = None
        elif each.opcode not in _JOINED:
            if here != line or each.at in handlers or comes_from.get(each.at, set()) - {here}:
                each.noted = index(here)
                found.append(each)
            line = here
    return found


def _lay_out(instructions: list[_Instruction], end: int, note: int) -> dict[int, int]:
    """Give instructions their places, and jumps their arguments, until nothing moves; old places to new.

    ``note`` is how much is put before what is noted; who jumps there comes to the note first.
    """
    jumps = [each for each in instructions if each.target is not None]
    while True:
        starts: dict[int, int] = {}
        at = 0
        for each in instructions:
            starts[each.at] = at
            if each.noted is not None:
                at += note
            each.start = at
            at += each.prefixes + 1 + each.caches
        starts[end] = at
        moved = False
        for each in jumps:
            assert each.target is not None
            argument = abs(starts[each.target] - (each.start + each.size))
            if argument != each.argument:
                each.take(argument)
                moved = True
        if not moved:
            return starts


def _bytes(each: _Instruction) -> bytes:
    found = bytearray()
    for shift in range(each.prefixes, 0, -1):
        found += bytes((_EXTENDED, each.argument >> 8 * shift & 0xFF))
    return bytes(found + bytes((each.opcode, each.argument & 0xFF)) + bytes(2 * each.caches))


def _positions(first: int, instructions: list[_Instruction], note: int) -> Iterator[bytes]:
    """The table of positions, neighbours that have the same one told together; a note has its line's."""
    line = first
    for position, group in itertools.groupby(instructions, lambda each: each.position):
        start, end, column, stop = position
        left = sum(each.size + (note if each.noted is not None else 0) for each in group)
        if start is None:
            kind, lines, rest = _NONE, b"", b""
        elif end is None or column is None or stop is None:
            kind, lines, rest = _NO_COLUMNS, _signed(start - line), b""
        else:
            rest = b"".join((_unsigned(end - start), _unsigned(column + 1), _unsigned(stop + 1)))
            kind, lines = _LONG, _signed(start - line)
        while left:
            length = min(left, _LONGEST)
            left -= length
            yield bytes((0x80 | kind << 3 | length - 1,)) + lines + rest
            if start is not None:
                line, lines = start, b"\0"


def _unsigned(value: int) -> bytes:
    if value < 64:
        return _SMALL[value]
    found = bytearray()
    while value >= 64:
        found.append(0x40 | value & 0x3F)
        value >>= 6
    return bytes((*found, value))


def _signed(value: int) -> bytes:
    return _unsigned(-value << 1 | 1 if value < 0 else value << 1)


_Handler = tuple[int, int, int, int]


def _handlers(code: types.CodeType) -> list[_Handler]:
    """The table of handlers: first and last place that one is for, its own, depth of the stack and a flag."""
    data = iter(code.co_exceptiontable)
    found = []
    for first in data:
        start = _number(first, data)
        length, target, depth = (_number(next(data), data) for _ in range(3))
        found.append((start, start + length, target, depth))
    return found


def _moved(handlers: list[_Handler], starts: dict[int, int]) -> bytes:
    found = bytearray()
    for start, stop, target, depth in handlers:
        entry = [_sixes(v) for v in (starts[start], starts[stop] - starts[start], starts[target], depth)]
        entry[0][0] |= 0x80
        found += bytes(byte for part in entry for byte in part)
    return bytes(found)


def _number(first: int, data: Iterator[int]) -> int:
    value = first & 0x3F
    while first & 0x40:
        first = next(data)
        value = value << 6 | first & 0x3F
    return value


def _sixes(value: int) -> list[int]:
    """A number in groups of six bits, the highest first."""
    found = [value & 0x3F]
    while value := value >> 6:
        found.insert(0, 0x40 | value & 0x3F)
    return found
