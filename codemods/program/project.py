"""The settings of a project: the tables below ``[tool]`` in its ``pyproject.toml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from codemods.program.source import SourceError

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")


def read_tools(path: Path, shown: str | None = None) -> dict[str, Any] | None:
    """The tables below ``[tool]`` in a ``pyproject.toml``; None if there is no such file.

    Raises:
        SourceError: for a file that can't be read or is not TOML.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(f"{shown or path}: can't be read: {error.strerror}") from None
    return parse_tools(data, shown or str(path))


def parse_tools(data: bytes, shown: str) -> dict[str, Any]:
    """The tables below ``[tool]`` in the bytes of a ``pyproject.toml``; raises as `read_tools`."""
    import tomllib

    try:
        text = data.decode()
        tools = tomllib.loads(text).get("tool", {})
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{shown}:{line}: not valid TOML: not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        what = str(error)
        if place := _PLACE.search(what):
            where, what = ":".join(place.groups()), what[: place.start()].strip()
            raise SourceError(f"{shown}:{where}: not valid TOML: {what}") from None
        last = len(text.splitlines()) or 1
        raise SourceError(f"{shown}:{last}: not valid TOML: {what}") from None
    if not isinstance(tools, dict):
        raise SourceError(f"{shown}:1: `tool` must be a table")
    return tools
