"""A tree, and its files as items."""

from __future__ import annotations

import ast
import configparser
import contextlib
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ci.changes.compare import Item
from ci.config import GateConfig
from ci.git import git


@dataclass(frozen=True)
class Side:
    """A tree, and the base's configuration, by which both are read."""

    root: Path
    config: GateConfig

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files that git keeps of it, or would keep."""
        options = ("-z", "--cached", "--others", "--exclude-standard")
        found = git(self.root, "ls-files", *options, "--", ".").split("\0")
        return tuple(sorted({path for path in found if path and (self.root / path).is_file()}))

    @cached_property
    def texts(self) -> dict[str, str]:
        """Its Python files."""
        return {path: self.text(path) for path in self.files if path.endswith((".py", ".pyw"))}

    def text(self, path: str) -> str:
        """Return a file's text; empty where there is none."""
        try:
            return (self.root / path).read_text("utf-8", "replace")
        except OSError:
            return ""


def file(name: str, side: Side, path: str, *, may_come: bool) -> Item:
    """Return a file as a whole; of Python and TOML without comments and layout."""
    text = side.text(path)
    if path.endswith(".py"):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            text = ast.dump(ast.parse(text))
    elif path.endswith(".toml"):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            text = repr(tomllib.loads(text))
    content = hashlib.sha256(text.encode()).hexdigest()
    return Item(name, path, path, content, path, "come" if may_come else "neither")


def sections(text: str, shown: str) -> dict[str, dict[str, str]]:
    """Return a file in ini form. Raises `ValueError`."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(f"{shown}: {' '.join(str(error).split())}") from None
    return {name: dict(parser[name]) for name in parser.sections()}


def tables(text: str, shown: str) -> Mapping[str, Any]:
    """Return a file in TOML. Raises `ValueError`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{shown}: not valid TOML: {error}") from None
