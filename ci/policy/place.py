"""What one tree says in one place from which a check reads what it demands."""

from __future__ import annotations

import ast
import configparser
import contextlib
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ci.config import GateConfig
from ci.git import git


@dataclass(frozen=True)
class Side:
    """A tree, and the base's configuration, by which both are read."""

    root: Path
    config: GateConfig

    @cached_property
    def files(self) -> tuple[str, ...]:
        """What git keeps of it, or would keep."""
        options = ("-z", "--cached", "--others", "--exclude-standard")
        found = git(self.root, "ls-files", *options, "--", ".").split("\0")
        return tuple(sorted({path for path in found if path and (self.root / path).is_file()}))

    @cached_property
    def texts(self) -> dict[str, str]:
        """Its Python files."""
        return {path: self.text(path) for path in self.files if path.endswith((".py", ".pyw"))}

    def text(self, path: str) -> str:
        """A file; empty where there is none."""
        try:
            return (self.root / path).read_text("utf-8", "replace")
        except OSError:
            return ""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that a tree says.

    Attributes:
        name: what a change of it is called; an acceptance names it so.
        path: the file that says it.
        load: reads it, which may fail.
        key: tells it apart from others of its name.
    """

    name: str
    path: str
    load: Callable[[], Any]
    key: object = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that is there or not, as it is shown, and what of it must stay the same."""

    shown: str
    content: object = None


def said(name: str, path: str, value: object, key: object) -> Found:
    """A thing whose value is known."""
    return Found(name, path, lambda: value, key)


def file(name: str, side: Side, path: str) -> Found:
    """A file as a whole; of Python its code, without comments and layout."""
    return Found(name, path, lambda: Piece(path, _content(side, path)), path)


def _content(side: Side, path: str) -> str:
    text = side.text(path)
    if path.endswith(".py"):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            text = ast.dump(ast.parse(text))
    elif path.endswith(".toml"):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            text = repr(tomllib.loads(text))
    return hashlib.sha256(text.encode()).hexdigest()


def numbered(texts: Iterable[str]) -> list[tuple[str, int]]:
    """Texts with a number each, so that those that are there twice are told apart."""
    seen: dict[str, int] = {}
    for text in texts:
        seen[text] = seen.get(text, 0) + 1
    return [(text, number) for text, count in seen.items() for number in range(1, count + 1)]


def sections(text: str, shown: str) -> dict[str, dict[str, str]]:
    """A file in ini form. Raises `ValueError`."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(f"{shown}: {' '.join(str(error).split())}") from None
    return {name: dict(parser[name]) for name in parser.sections()}


def tables(text: str, shown: str) -> Mapping[str, Any]:
    """A file in TOML. Raises `ValueError`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{shown}: not valid TOML: {error}") from None
