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
import mmap
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .rewrite import Originals, rewritten

_POINTER = 8
# PyCodeObject of CPython 3.11: after the head come the constants, the names, the table of handlers.
_CONSTANTS, _HANDLERS = 24, 40
# They compile what they read in the code of functions.
_READERS = ("numba",)
_UNITS = ("RESUME", "PUSH_NULL", "LOAD_CONST", "PRECALL", "CALL", "RETURN_VALUE")


class Flags(mmap.mmap):
    """A byte for each line of a file, shared by all processes of a run; a copy of it is nobody's."""

    def __reduce__(self) -> tuple[type[bytearray], tuple[int]]:
        return bytearray, (len(self),)


class Noting:
    """Makes the code of some files note its lines in files of ``folder``, one each."""

    def __init__(self, folder: Path, number: Callable[[str], int | None]) -> None:
        self._folder = folder
        self.number = number
        self._flags: dict[int, Flags] = {}
        self._originals: Originals = {}
        self._over = False

    def made(self, code: types.CodeType) -> types.CodeType:
        """The same code, which notes its lines if it is of one of the files."""
        number = self.number(code.co_filename)
        if number is None or self._over or self.notes(code):
            return code
        flags = self._of(number, _last_line(code) + 1)
        return rewritten(code, flags, lambda line: line if line < len(flags) else None, self._originals)

    def end(self) -> None:
        """Give all functions the code that they had; what runs now goes on as it is."""
        self._over = True
        for each in gc.get_objects():
            if type(each) is types.FunctionType and id(each.__code__) in self._originals:
                each.__code__ = self._originals[id(each.__code__)][1]

    def notes(self, code: types.CodeType) -> bool:
        """Whether it does already."""
        return any(isinstance(each, Flags | types.CodeType) and _notes(each) for each in code.co_consts)

    def _of(self, number: int, size: int) -> Flags:
        known = self._flags.get(number)
        if known is None or len(known) < size:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"lines-{number}.bin"
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            try:
                size = max(size, os.fstat(descriptor).st_size)
                os.ftruncate(descriptor, size)
                known = self._flags[number] = Flags(descriptor, size)
            finally:
                os.close(descriptor)
        return known


def _notes(constant: Flags | types.CodeType) -> bool:
    return isinstance(constant, Flags) or any(
        isinstance(each, Flags | types.CodeType) and _notes(each) for each in constant.co_consts
    )


def _last_line(code: types.CodeType) -> int:
    last = max((line for _, _, line in code.co_lines() if line), default=0)
    return max([last, *(_last_line(each) for each in code.co_consts if isinstance(each, types.CodeType))])


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
    at = id(code)
    place = at + types.CodeType.__basicsize__
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
