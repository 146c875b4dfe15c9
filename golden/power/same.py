"""Whether a change makes another program at all."""

from __future__ import annotations

import dis
import types


def same_program(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two files have the same instructions and constants; lines and columns mean nothing here."""
    waiting = [(left, right)]
    while waiting:
        a, b = waiting.pop()
        if _shape(a) != _shape(b):
            return False
        for index in _used(a):
            x, y = a.co_consts[index], b.co_consts[index]
            if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
                waiting.append((x, y))
            elif _exact(x) != _exact(y):
                return False
    return True


def _shape(code: types.CodeType) -> tuple[object, ...]:
    return (
        code.co_code,
        code.co_exceptiontable,
        code.co_name,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_posonlyargcount,
    )


def _used(code: types.CodeType) -> set[int]:
    """The constants that instructions load; a branch that is never taken leaves its own behind."""
    found = {i.arg for i in dis.get_instructions(code) if i.opcode in dis.hasconst and i.arg is not None}
    # A function's documentation is loaded by no instruction.
    return found | ({0} if code.co_consts else set())


def _exact(value: object) -> tuple[object, ...]:
    """Of a constant what equality does not tell: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(value, tuple):
        return (tuple, *map(_exact, value))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(map(_exact, value)))
    return type(value), repr(value)
