"""Python 3.11: the code of some files notes its own lines, wherever it is loaded; nothing else is slower.

Loaded by the import system, `-m` and runpy, code is made anew before it runs. That of the script which the
interpreter was started with can't be: it is given another body, which calls the code that notes. What is
compiled by other means, such as the tests of pytest, is told to ``unknown`` before it runs.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import gc
import importlib.machinery
import sys
import types
from collections.abc import Callable
from typing import Any

from .flags import Flags, Lines
from .rewrite import Originals, instructions_of, rewritten

# PyCodeObject of CPython 3.11: after the head come the constants, the names, the table of handlers.
_CONSTANTS, _HANDLERS = 24, 40
# They compile what they read in the code of functions.
_READERS = ("numba",)
_UNITS = ("RESUME", "PUSH_NULL", "LOAD_CONST", "PRECALL", "CALL", "RETURN_VALUE")


class Noting:
    """Makes the code of some files note its ``lines``; ``number`` says which file a path is."""

    def __init__(self, lines: Lines, number: Callable[[str], int | None]) -> None:
        self._lines = lines
        self.number = number
        self._originals: Originals = {}
        self._over = False

    def made(self, code: types.CodeType) -> types.CodeType:
        """The same code, which notes its lines if it is of one of the files.

        Raises `IndexError` if it has lines that the file does not.
        """
        number = self.number(code.co_filename)
        if number is None or self._over or self.notes(code):
            return code
        place = functools.partial(self._lines.place, number)
        return rewritten(code, self._lines.flags, place, self._originals)

    def end(self) -> None:
        """Give all functions the code that they had; what runs now goes on as it is."""
        self._over = True
        for each in gc.get_objects():
            if type(each) is types.FunctionType and id(each.__code__) in self._originals:
                each.__code__ = self._originals[id(each.__code__)][1]

    def notes(self, code: types.CodeType) -> bool:
        """Whether it does already."""
        return any(isinstance(each, Flags | types.CodeType) and _notes(each) for each in code.co_consts)


def _notes(constant: Flags | types.CodeType) -> bool:
    return isinstance(constant, Flags) or any(
        isinstance(each, Flags | types.CodeType) and _notes(each) for each in constant.co_consts
    )


def install(noting: Noting, unknown: Callable[[], None]) -> None:
    """Begin: ``unknown`` is called before code of one of the files runs that does not note its lines."""
    import runpy

    loader: Any = importlib.machinery.SourceFileLoader.__mro__[2]
    get_code, from_file = loader.get_code, runpy._get_code_from_file  # type: ignore[attr-defined]

    def noting_get_code(self: Any, fullname: str) -> types.CodeType | None:
        found = get_code(self, fullname)
        return found if found is None else _try(noting, found)

    def noting_from_file(*arguments: Any) -> Any:
        code, *rest = from_file(*arguments)
        return (_try(noting, code), *rest)

    loader.get_code = noting_get_code
    runpy._get_code_from_file = noting_from_file  # type: ignore[attr-defined]

    def hears(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import" and arguments[0] in _READERS:
            noting.end()
            unknown()
        if event != "exec":
            return
        code = arguments[0]
        if type(code) is not types.CodeType or noting.number(code.co_filename) is None:
            return
        if noting.notes(code):
            return
        started = sys._getframe().f_back is None
        if not (started and _redirect(code, _try(noting, code))):
            unknown()

    sys.addaudithook(hears)


def before_compiling(torch: Any, noting: Noting, unknown: Callable[[], None]) -> None:
    """``torch.compile`` reads the code of functions: before its first call they get back what they had."""
    compile_ = torch.compile

    @functools.wraps(compile_)
    def compiles(*arguments: Any, **named: Any) -> Any:
        torch.compile = compile_
        noting.end()
        unknown()
        return compile_(*arguments, **named)

    torch.compile = compiles


def _try(noting: Noting, code: types.CodeType) -> types.CodeType:
    """What notes; the code itself, which is told of when it runs, where there is none."""
    try:
        return noting.made(code)
    except Exception:
        return code


def _redirect(code: types.CodeType, target: types.CodeType) -> bool:
    """Give the code of the script that starts another body, which calls ``target``; False without room."""
    if target is code:
        return False
    main = sys.modules["__main__"]
    function = types.FunctionType(target, main.__dict__)
    body = bytearray()
    for name in _UNITS:
        opcode = dis.opmap[name]
        body += bytes((opcode, 0)) + bytes(2 * dis._inline_cache_entries[opcode])  # type: ignore[attr-defined]
    at, place = id(code), instructions_of(code)
    fits = len(body) <= len(code.co_code) and code.co_stacksize >= 2
    constants, handlers = (ctypes.c_void_p.from_address(at + offset) for offset in (_CONSTANTS, _HANDLERS))
    as_known = (
        constants.value == id(code.co_consts)
        and handlers.value == id(code.co_exceptiontable)
        and ctypes.string_at(place, len(code.co_code)) == code.co_code
    )
    if not (fits and as_known):
        return False
    # The code object gives back what it holds at its end; what it held is nobody's from now on.
    # The module is held as its names are: at its end Python empties modules that are left: files close.
    for field, held in ((constants, (function, main)), (handlers, b"")):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
        field.value = id(held)
    ctypes.memmove(place, bytes(body), len(body))
    return True
