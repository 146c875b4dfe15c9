"""The instructions of a code object as a graph, in which encoding and layout don't count.

Pairs of instructions are taken apart, cells of a function's own are like its other variables, jumps are edges
of a graph. So two code objects that differ in where their variables live compare equal, whatever the
interpreter's version makes of that. A cell itself (what an inner function is given) is never taken for its
value.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

_FLAGS = (
    {"LOAD_GLOBAL": 1}
    if sys.version_info < (3, 12)
    else {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2}
)
# What stands before the first RESUME says how variables are kept, but for the making of a generator.
_PRELUDE = frozenset(["MAKE_CELL", "COPY_FREE_VARS"])
_AIDS = frozenset(["NOP", "CACHE"])
_STOPS = frozenset(["RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"])
_STORES = frozenset(["STORE_FAST"])
_READS = frozenset(["DELETE_FAST", "LOAD_CLOSURE", "LOAD_FAST"])
_GOTO = frozenset(["JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"])
# Jumps that are written as their opposites with the ways swapped.
_OPPOSITE = {"POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE", "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE"}
_NAMED, _CONSTANT = frozenset(dis.hasname), frozenset(dis.hasconst)
_LOCAL, _CELL = frozenset(dis.haslocal), frozenset(dis.hasfree)
_JUMP = frozenset([*dis.hasjrel, *dis.hasjabs])
# Names that a class body is given by the compiler, and what they say: where it stands.
_PLACES = frozenset(["__qualname__", "__firstlineno__"])


class Step(NamedTuple):
    """One instruction: what it does, the instructions that may follow, and what handles what it raises (the
    handler, the stack's depth, whether the place is pushed).
    """

    name: str
    argument: object
    offset: int
    follows: tuple[int, ...]
    handler: tuple[int, int, bool] | None


class _Target(NamedTuple):
    """Where a jump leads."""

    offset: int


class Steps:
    """A code object's instructions as a graph."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self._kept: list[tuple[int, str, object]] = []
        # The number of the first instruction kept at or after an offset.
        self._number: dict[int, int] = {}
        self._names = _variables(code)
        self._read()
        self.steps = self._linked()

    def line(self, step: Step) -> int | None:
        """The line of an instruction."""
        return self._lines.get(step.offset)

    @cached_property
    def _lines(self) -> dict[int, int | None]:
        return {offset: line for start, end, line in self.code.co_lines() for offset in range(start, end, 2)}

    def on_lines(self, first: int, last: int) -> int | None:
        """The first instruction on some lines."""
        for number, step in enumerate(self.steps):
            line = self.line(step)
            if line is not None and first <= line <= last:
                return self.settled(number)
        return None

    def found(self, argument: object) -> list[int]:
        """The instructions with an argument."""
        return [number for number, step in enumerate(self.steps) if step.argument == argument]

    def stored(self, first: int, ends: Collection[int]) -> set[str]:
        """The variables that instructions store between one and others."""
        seen, waiting, names = set(ends), [first], set[str]()
        while waiting:
            number = waiting.pop()
            if number not in seen:
                seen.add(number)
                waiting += self._after(number)
                step = self.steps[number]
                if step.name in _STORES:
                    names.add(str(step.argument))
        return names - self._restored

    def live(self, places: Collection[int], ends: Mapping[int, Collection[str]]) -> set[str]:
        """The variables whose values may be read at or after some instructions, before they are stored.

        ``ends`` are those for instructions at which reading stops. Variables that comprehensions keep aside
        are never among them.
        """
        names = list(dict.fromkeys(str(step.argument) for step in self.steps if step.name in _READS))
        names += sorted({name for given in ends.values() for name in given} - set(names))
        bits = {name: 1 << index for index, name in enumerate(names)}
        before: list[list[int]] = [[] for _ in self.steps]
        live, stays = [0] * len(self.steps), [-1] * len(self.steps)
        for number, step in enumerate(self.steps):
            if number in ends:
                live[number], stays[number] = sum(bits[name] for name in {*ends[number]}), 0
                continue
            if step.name in _STORES:
                stays[number] = ~bits.get(str(step.argument), 0)
            elif step.name in _READS and step.argument not in self._restored:
                live[number] = bits[str(step.argument)]
            for other in self._after(number):
                before[other].append(number)
        waiting = [number for number, mask in enumerate(live) if mask]
        while waiting:
            number = waiting.pop()
            for other in before[number]:
                # What handles an error in a store may still see the value from before.
                kept = -1 if self._handler(other) == number else stays[other]
                reached = live[other] | (live[number] & kept)
                if reached != live[other]:
                    live[other] = reached
                    waiting.append(other)
        return {name for name in names if any(live[place] & bits[name] for place in places)}

    def _handler(self, number: int) -> int | None:
        handler = self.steps[number].handler
        return None if handler is None else handler[0]

    def _after(self, number: int) -> tuple[int, ...]:
        step = self.steps[number]
        return step.follows if step.handler is None else (*step.follows, step.handler[0])

    @cached_property
    def _restored(self) -> frozenset[str]:
        """Variables that comprehensions keep aside and put back."""
        return frozenset(str(s.argument) for s in self.steps if s.name.startswith("LOAD_FAST_AND_CLEAR"))

    def settled(self, number: int) -> int:
        """The instruction that is reached by going on through jumps that ask nothing."""
        seen = set()
        while self.steps[number].name in _GOTO and number not in seen:
            seen.add(number)
            number = self.steps[number].follows[0]
        return number

    def _read(self) -> None:
        begun = False
        for offset, end, opcode, name, argument in _units(self.code.co_code):
            self._number[offset] = len(self._kept)
            if name in _AIDS or (name in _PRELUDE and not begun):
                continue
            begun = begun or name == "RESUME"
            for part, value in self._parts(opcode, name, argument, end):
                self._kept.append((offset, part, value))
        self._number[len(self.code.co_code)] = len(self._kept)

    def _parts(self, opcode: int, name: str, argument: int, end: int) -> list[tuple[str, object]]:
        """Take an instruction apart into one or two plain ones."""
        if opcode in _LOCAL:
            if name.count("_FAST") == 2 and name not in ("LOAD_FAST_AND_CLEAR",):
                first, second = name.replace("_FAST_", "_FAST ").split(" ")
                return [self._local(first, argument >> 4), self._local(second, argument & 15)]
            return [self._local(name, argument)]
        if opcode in _CELL:
            return [self._cell(name, argument)]
        if opcode in _JUMP:
            return [(name, _Target(end + 2 * (-argument if "BACKWARD" in name else argument)))]
        if opcode in _NAMED:
            return [self._named(name, argument)]
        if name == "RETURN_CONST":
            return [("LOAD_CONST", _constant(self.code.co_consts[argument])), ("RETURN_VALUE", None)]
        if opcode in _CONSTANT:
            return [(name, _constant(self.code.co_consts[argument]))]
        return [(name, argument if opcode >= dis.HAVE_ARGUMENT else None)]

    def _local(self, name: str, index: int) -> tuple[str, object]:
        variable, kind = self._names[index]
        if kind == "local":
            return ("LOAD_FAST" if name == "LOAD_FAST_CHECK" else name), variable
        return ("LOAD_CLOSURE" if name == "LOAD_FAST" else f"{name} of a cell"), variable

    def _cell(self, name: str, index: int) -> tuple[str, object]:
        variable, kind = self._names[index]
        if name == "LOAD_DEREF":
            return "LOAD_FAST", variable
        if kind != "free" and name in ("STORE_DEREF", "DELETE_DEREF"):
            return name.replace("_DEREF", "_FAST"), variable
        return name, variable

    def _named(self, name: str, argument: int) -> tuple[str, object]:
        flags = _FLAGS.get(name, 0)
        text = self.code.co_names[argument >> flags]
        if name == "STORE_NAME" and text in _PLACES:
            self._kept[-1] = (self._kept[-1][0], "LOAD_CONST", "where it is defined")
        elif name == "STORE_NAME" and text == "__static_attributes__":
            self._kept[-1] = (self._kept[-1][0], "LOAD_CONST", "the attributes that its methods set")
        return name, (text, argument & ((1 << flags) - 1))

    def _linked(self) -> list[Step]:
        entries = (
            dis.Bytecode(self.code).exception_entries  # type: ignore[attr-defined]
            if self.code.co_exceptiontable
            else []
        )
        handlers = {
            offset: (self._number[entry.target], entry.depth, entry.lasti)
            for entry in entries
            for offset in range(entry.start, entry.end, 2)
        }
        found = []
        for index, (offset, name, argument) in enumerate(self._kept):
            follows: tuple[int, ...] = () if name in _STOPS else (index + 1,)
            if isinstance(argument, _Target):
                name, follows = _jump(name, self._number[argument.offset], index + 1)
                argument = None
            found.append(Step(name, argument, offset, follows, handlers.get(offset)))
        return found


def _units(code: bytes) -> Iterator[tuple[int, int, int, str, int]]:
    """Instructions: where they start, where their caches end, operation, its name, argument."""
    offset, size, opname, cache = 0, len(code), dis.opname, dis.opmap["CACHE"]
    while offset < size:
        start, argument = offset, code[offset + 1]
        opcode = code[offset]
        while opcode == dis.EXTENDED_ARG:
            offset += 2
            opcode, argument = code[offset], argument << 8 | code[offset + 1]
        offset += 2
        while offset < size and code[offset] == cache:
            offset += 2
        yield start, offset, opcode, opname[opcode], argument


def _variables(code: types.CodeType) -> list[tuple[str, str]]:
    """A frame's variables in their order, and where each is kept."""
    plain, cells = code.co_varnames, set(code.co_cellvars)
    return [
        *((name, "cell" if name in cells else "local") for name in plain),
        *((name, "cell") for name in code.co_cellvars if name not in set(plain)),
        *((name, "free") for name in code.co_freevars),
    ]


def _constant(value: object) -> object:
    """A constant such that only equal ones of one type compare equal."""
    if isinstance(value, types.CodeType):
        return value
    if isinstance(value, frozenset):
        return ("frozenset", *sorted(map(repr, value)))
    return type(value).__name__, repr(value)


def _jump(name: str, target: int, after: int) -> tuple[str, tuple[int, ...]]:
    """A jump without its direction: the way taken when what it asks for holds, then the other."""
    if name in _GOTO:
        return name, (target,)
    plain = name.replace("_FORWARD", "").replace("_BACKWARD", "")
    opposite = _OPPOSITE.get(plain)
    return (plain, (target, after)) if opposite is None else (opposite, (after, target))
