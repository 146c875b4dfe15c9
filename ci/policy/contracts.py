"""The contracts of import-linter, read from the file that import-linter itself reads."""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ci.policy.compare import Weakening, compare
from ci.policy.rules import LINTER
from codemods.program import SourceError, read_tools

_PROJECT = "pyproject.toml"
_NAME = "importlinter"


def contracts(base: Path, head: Path) -> Iterator[Weakening]:
    """List what the base's contracts demand and the head's do not, or that another file has them now."""
    try:
        before, demanded = _settings(base)
    except (SourceError, ValueError) as error:
        yield Weakening(_NAME, f"the base's can't be read: {error}", _PROJECT)
        return
    try:
        after, found = _settings(head)
    except (SourceError, ValueError) as error:
        yield Weakening(_NAME, f"can't be read: {error}", _PROJECT)
        return
    if before and after and before != after:
        yield Weakening(_NAME, f"is read from {after}, was read from {before}", after)
        return
    yield from compare(_NAME, demanded, found, LINTER, after or before)


def _settings(root: Path) -> tuple[str, dict[str, Any] | None]:
    """The first file with contracts, in import-linter's order, and what it says."""
    for name in ("setup.cfg", ".importlinter"):
        found = _ini(root / name, name)
        if found is not None:
            return name, found
    found = (read_tools(root / _PROJECT, _PROJECT) or {}).get(_NAME)
    return (_PROJECT, found) if found else ("", None)


def _ini(path: Path, shown: str) -> dict[str, Any] | None:
    """A configuration in ini form, in the shape of the one in TOML; raises `ValueError`."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except OSError:
        return None
    except (UnicodeDecodeError, configparser.Error) as error:
        raise ValueError(f"{shown}: {' '.join(str(error).split())}") from None
    if not parser.has_section(_NAME):
        return None
    found = [
        {"name": section, **{key: _value(value) for key, value in parser[section].items()}}
        for section in parser.sections()
        if section.startswith(f"{_NAME}:")
    ]
    return {**{key: _value(value) for key, value in parser[_NAME].items()}, "contracts": found}


def _value(text: str) -> str | list[str]:
    return text.strip().split("\n") if "\n" in text else text
