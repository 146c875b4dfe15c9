"""The contracts of import-linter, read from the file that import-linter itself reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ci.policy.place import Found, Side, sections, tables

_NAME = "importlinter"


def contracts(side: Side) -> Iterator[Found]:
    """Yield the contracts, with the first file that has some in import-linter's order."""
    for path in ("setup.cfg", ".importlinter"):
        if (side.root / path).is_file() and f"[{_NAME}]" in side.text(path):
            yield Found(_NAME, path, partial(_ini, side.text(path), path))
            return
    path = "pyproject.toml"

    def load() -> dict[str, Any] | None:
        found = tables(side.text(path), path).get("tool", {}).get(_NAME)
        return {"file": path, **found} if found else None

    yield Found(_NAME, path, load)


def _ini(text: str, shown: str) -> dict[str, Any]:
    """A configuration in ini form, in the shape of the one in TOML; raises `ValueError`."""
    every = sections(text, shown)
    found = [
        {"name": name, **{key: _value(value) for key, value in section.items()}}
        for name, section in every.items()
        if name.startswith(f"{_NAME}:")
    ]
    own = {key: _value(value) for key, value in every.get(_NAME, {}).items()}
    return {"file": shown, **own, "contracts": found}


def _value(text: str) -> str | list[str]:
    return text.strip().split("\n") if "\n" in text else text
