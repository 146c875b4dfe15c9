"""Code objects of Python 3.11 that note each line when it runs, and do nothing else that they did not do.

Before the first instruction of each line stand four more, which set one byte of a buffer. What a program can
see of its code otherwise stays: names, positions of each instruction, and with them tracebacks, the flow of
control, what handles an exception. Jumps and the tables of lines and of handlers are made anew; see
Objects/exception_handling_notes.txt and Objects/locations.md of CPython 3.11 for their forms.
"""

from __future__ import annotations

import dis
import itertools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_EXTENDED = dis.opmap["EXTENDED_ARG"]
_RESUME = dis.opmap["RESUME"]
# These are the second half of what stands before them.
_JOINED = {dis.opmap[name] for name in ("RESUME", "CALL", "PRECALL") if name in dis.opmap}
_CACHES: list[int] = list(getattr(dis, "_inline_cache_entries", ()))
_LONGEST = 8  # code units of an entry in the table of positions
_NO_COLUMNS, _LONG, _NONE = 13, 14, 15
_SMALL = [bytes((value,)) for value in range(64)]
_NEEDS = 3  # places on the stack

Position = tuple[int | None, int | None, int | None, int | None]
# Of a line, the index of its byte; None for one that nobody asks about.
Index = Callable[[int], int | None]
# What was made, and of what, by the identity of the first.
Originals = dict[int, tuple[types.CodeType, types.CodeType]]


@dataclass(slots=True)
class _Instruction:
    """One instruction; ``at`` is where it began, in code units, its first prefix included."""

    opcode: int
    argument: int
    at: int
    position: Position
    target: int | None = None
    noted: int | None = None
    start: int = 0
    # How many EXTENDED_ARG it has; never fewer than before, so that the search for places ends.
    prefixes: int = 0

    def __post_init__(self) -> None:
        self.take(self.argument)

    def take(self, argument: int) -> None:
        """Give it another argument."""
        self.argument = argument
        needed = (argument > 0xFF) + (argument > 0xFFFF) + (argument > 0xFFFFFF)
        self.prefixes = max(self.prefixes, needed)

    @property
    def caches(self) -> int:
        """How many code units follow that hold what the interpreter learns."""
        return _CACHES[self.opcode]

    @property
    def size(self) -> int:
        """Its code units."""
        return self.prefixes + 1 + self.caches


def rewritten(code: types.CodeType, flags: Any, index: Index, originals: Originals) -> types.CodeType:
    """A code object, and all within it, that sets ``flags[index(line)]`` to 1 when a line runs.

    Each is put into ``originals`` with what it was made of.
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
    end = len(code.co_code) // 2
    noted = list(_mark(instructions, {target for _, _, target, _ in _handlers(code)}, index))
    if not noted:
        return code.replace(co_consts=tuple(constants))
    places = {number: len(constants) + 2 + place for place, number in enumerate(sorted(set(noted)))}
    buffer, one = len(constants), len(constants) + 1
    constants += [flags, 1, *sorted(set(noted))]

    def inserted(each: _Instruction) -> list[_Instruction]:
        if each.noted is None:
            return []
        loads = (one, buffer, places[each.noted])
        made = [_Instruction(dis.opmap["LOAD_CONST"], place, -1, each.position) for place in loads]
        return [*made, _Instruction(dis.opmap["STORE_SUBSCR"], 0, -1, each.position)]

    everything = [(inserted(each), each) for each in instructions]
    starts = _lay_out(everything, end)
    whole = [each for before, own in everything for each in (*before, own)]
    return code.replace(
        co_code=b"".join(map(_bytes, whole)),
        co_consts=tuple(constants),
        co_linetable=b"".join(_positions(code.co_firstlineno, whole)),
        co_exceptiontable=_moved(_handlers(code), starts),
        co_stacksize=code.co_stacksize + _NEEDS,
    )


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
        after = at + 1 + _CACHES[opcode]
        each = _Instruction(opcode, argument, begun, positions[at])
        if opcode in dis.hasjrel:
            each.target = after + (-argument if "BACKWARD" in dis.opname[opcode] else argument)
        found.append(each)
        at = begun = after
        argument = 0
    return found


def _mark(instructions: list[_Instruction], handlers: set[int], index: Index) -> Iterator[int]:
    """Choose where lines are noted: where the line changes, and where control comes from elsewhere."""
    targets = {each.target for each in instructions} | handlers
    first = next((i for i, each in enumerate(instructions) if each.opcode == _RESUME), len(instructions))
    line: int | None = None
    for each in instructions[first + 1 :]:
        here = each.position[0]
        if here is None or each.opcode in _JOINED:
            continue
        if (here != line or each.at in targets) and (number := index(here)) is not None:
            each.noted = number
            yield number
        line = here


def _lay_out(everything: list[tuple[list[_Instruction], _Instruction]], end: int) -> dict[int, int]:
    """Give instructions their places, and jumps their arguments, until nothing moves; old places to new."""
    while True:
        starts: dict[int, int] = {}
        at = 0
        for before, own in everything:
            starts[own.at] = at
            for each in (*before, own):
                each.start = at
                at += each.size
        starts[end] = at
        moved = False
        for _, own in everything:
            if own.target is None:
                continue
            argument = abs(starts[own.target] - (own.start + own.size))
            moved = moved or argument != own.argument
            own.take(argument)
        if not moved:
            return starts


def _bytes(each: _Instruction) -> bytes:
    found = bytearray()
    for shift in range(each.prefixes, 0, -1):
        found += bytes((_EXTENDED, each.argument >> 8 * shift & 0xFF))
    return bytes(found + bytes((each.opcode, each.argument & 0xFF)) + bytes(2 * each.caches))


def _positions(first: int, instructions: list[_Instruction]) -> Iterator[bytes]:
    """The table of positions, neighbours that have the same one told together."""
    line = first
    for position, group in itertools.groupby(instructions, lambda each: each.position):
        start, end, column, stop = position
        left = sum(each.size for each in group)
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
