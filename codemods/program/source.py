"""A Python source file: its bytes, its text, its tree, and the way from one to another."""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import io
import itertools
import re
import symtable
import sys
import tokenize
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# The fields that hold blocks, of every kind of node that has some, in the order of the text.
_HOLDING = frozenset(["body", "cases", "finalbody", "handlers", "orelse"])
_KINDS: list[type[ast.AST]] = [ast.Module, ast.ExceptHandler, ast.match_case, *ast.stmt.__subclasses__()]
_BLOCKS = {kind: tuple(name for name in kind._fields if name in _HOLDING) for kind in _KINDS}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BOM = b"\xef\xbb\xbf"
# Enough for generated expressions of a thousand levels, and far from what the C stack holds.
_DEEPEST = 6000


class Unusable(Exception):
    """Input that can't be used; the message is one line."""


class SourceError(Unusable):
    """An input that can't be used; the message is one line with file, place, cause and way out."""


@dataclass(frozen=True)
class Source:
    """One file, decoded as the interpreter would, with offsets from the syntax tree into its text."""

    path: str
    text: str
    encoding: str
    tree: ast.Module
    bom: bool

    @cached_property
    def lines(self) -> list[str]:
        """Lines with their own line ends, split as the tokenizer splits them."""
        return split_lines(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Offset in ``text`` of every line, and of the end."""
        return [0, *itertools.accumulate(map(len, self.lines))]

    @cached_property
    def table(self) -> symtable.SymbolTable:
        """CPython's own symbol table of the file."""
        return self._by_compiler(symtable.symtable)

    def compiled(self) -> types.CodeType:
        """The file's code.

        Raises:
            SourceError: if the compiler finds what the parser does not.
        """
        return self._by_compiler(functools.partial(compile, dont_inherit=True))

    def _by_compiler(self, make: Callable[[str, str, str], T]) -> T:
        try:
            with warnings.catch_warnings(action="ignore"):
                return make(self.text, self.path, "exec")
        except SyntaxError as error:
            raise SourceError(f"{self.path}:{error.lineno or 1}: does not compile: {error.msg}") from None

    @cached_property
    def future_flags(self) -> tuple[str, ...]:
        """Names imported from ``__future__``, in order."""
        return tuple(
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level
            for alias in node.names
        )

    @cached_property
    def newline(self) -> str:
        """The file's first line end, which added lines use."""
        ends = (end for line in self.lines for end in ("\r\n", "\n", "\r") if line.endswith(end))
        return next(ends, "\n")

    def encode(self, text: str) -> bytes:
        """A text in this file's encoding, with its byte order mark if it has one."""
        return (_BOM if self.bom else b"") + text.encode(self.encoding)


def nested_code(code: types.CodeType) -> list[types.CodeType]:
    """Code objects among a code object's constants."""
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def split_lines(text: str) -> list[str]:
    """Lines with their ends, split as the tokenizer does: at CR LF, CR and LF only."""
    return _LINE.findall(text)


def parse_source(text: str, path: str, *, encoding: str = "utf-8", bom: bool = False) -> Source:
    """Parse a text.

    Raises:
        SourceError: if it is not Python.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, path)
    except SyntaxError as error:
        raise SourceError(f"{path}:{error.lineno or 1}: not valid Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"{path}:1: not readable as Python: {error or type(error).__name__}") from None
    return Source(path=path, text=text, encoding=encoding, tree=tree, bom=bom)


def expression_in(text: str) -> ast.expr | None:
    """The expression that a text is; None if it is none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def read_source(path: Path, shown: str | None = None) -> Source:
    """Read and parse a file.

    Raises:
        SourceError: if it can't be read, decoded or parsed.
    """
    name = shown if shown is not None else str(path)
    try:
        # A pipe would be waited for, and a device read without end.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise SourceError(f"{name}: is not a regular file")
        if path.suffix == ".ipynb":
            raise SourceError(f"{name}: is a notebook; export it as a Python file")
        data = path.read_bytes()
    except FileNotFoundError:
        what = "is a link to a file that is not there" if path.is_symlink() else "no such file"
        raise SourceError(f"{name}: {what}") from None
    except IsADirectoryError:
        raise SourceError(f"{name}: is a folder, not a Python file") from None
    except OSError as error:
        raise SourceError(f"{name}: can't be read: {error.strerror}") from None
    return shared_source(data, name)


def _declared_encoding(data: bytes, name: str) -> str:
    """The encoding that a file's first two lines declare, else UTF-8."""
    head = data.removeprefix(_BOM).split(b"\n", 2)[:2]
    try:
        # The declaration's own line may hold characters of the declared encoding.
        plain = (
            b"\n".join(line.decode("ascii", "replace").encode("ascii", "replace") for line in head) + b"\n"
        )
        encoding, _ = tokenize.detect_encoding(
            io.BytesIO((_BOM if data.startswith(_BOM) else b"") + plain).readline
        )
    except SyntaxError as error:
        raise SourceError(f"{name}:1: not valid Python: {error.msg}") from None
    return encoding


def decode_source(data: bytes, name: str) -> Source:
    """Decode and parse a file's bytes.

    Raises:
        SourceError: if they can't be decoded or parsed.
    """
    encoding = _declared_encoding(data, name)
    bom = data.startswith(_BOM)
    plain = "utf-8" if encoding == "utf-8-sig" else encoding
    try:
        text = data[len(_BOM) if bom else 0 :].decode(plain)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SourceError(f"{name}:{line}: not valid {plain}: {error.reason}") from None
    except (LookupError, UnicodeError):
        raise SourceError(f"{name}:1: {plain} is no encoding of text") from None
    if plain != "utf-8" and text.encode(plain) != data[len(_BOM) if bom else 0 :]:
        raise SourceError(f"{name}:1: does not survive a round trip through {plain}; save it as UTF-8")
    return parse_source(text, name, encoding=plain, bom=bom)


@functools.lru_cache(maxsize=256)
def _shared(data: bytes) -> Source:
    return decode_source(data, "")


def shared_source(data: bytes, name: str) -> Source:
    """Parse a file once for all who only read its tree.

    Raises:
        SourceError: as `decode_source`.
    """
    try:
        return replace(_shared(data), path=name)
    except SourceError:
        return decode_source(data, name)


def blocks_of(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of a statement, handler or case; a statement's handlers or cases count as one."""
    return [getattr(node, name) for name in _BLOCKS.get(type(node), ())]


def all_blocks(statement: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements in a statement, those of handlers and cases too."""
    found = []
    for block in blocks_of(statement):
        if block and isinstance(block[0], (ast.ExceptHandler, ast.match_case)):
            found += [inner for holder in block for inner in blocks_of(holder)]
        else:
            found.append(block)
    return found


def statements_in(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree and all statements, handlers and cases in it; expressions hold no statement."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in blocks_of(node):
            waiting.extend(block)


@contextlib.contextmanager
def analysing() -> Iterator[None]:
    """Leave reference cycles alone during a command, which makes many objects and keeps them; and let deeply
    nested programs be walked: one that is deeper still raises `SourceError`.
    """
    enabled, limit = gc.isenabled(), sys.getrecursionlimit()
    gc.disable()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        yield
    except RecursionError:
        raise SourceError("the program is nested too deeply to be analysed") from None
    finally:
        sys.setrecursionlimit(limit)
        if enabled:
            # As old objects; else the next one that is made has all of these looked through.
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def words(text: str) -> frozenset[str]:
    """The words of a text: a list of names is written as rows of words."""
    return frozenset(text.split())


def having(*names: str, within: bytes | None = None) -> Callable[[bytes], bool]:
    """Make a test whether a file has one of some words, or something that matches a pattern ``within`` which
    they stand; most files have not even the letters of one.
    """
    given = [name.encode() for name in names]
    # A pattern that begins with the letters is found many times faster.
    whole = {word: rb"%b\b(?<=\b%b)" % (re.escape(word), re.escape(word)) for word in given}

    @functools.lru_cache(maxsize=4096)
    def has(data: bytes) -> bool:
        there = [word for word in given if word in data]
        forms = [within] if there and within is not None else [whole[word] for word in there]
        return any(re.search(form, data) is not None for form in forms)

    return has
