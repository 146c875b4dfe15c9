"""The baseline file: findings that a project has accepted, each with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codemods.hotpath.codes import CODES
from codemods.hotpath.results import HEATS, Operation
from codemods.program.source import SourceError

NAME = "hotpath-baseline.toml"
_HEAD = """\
# Stalls in hot loops that this project accepts; made by `codemods hotpath --update-baseline`.
# Entries name no line, and are matched when a function is moved. Reasons are for you to edit.
version = 2
"""
_KEYS = {"code", "text", "path", "function", "heat", "count", "reason"}


@dataclass(frozen=True, slots=True)
class Entry:
    """So many places with an operation in a function, and why they are accepted."""

    operation: Operation
    count: int
    reason: str
    line: int = 0

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts entries so that two branches that add some rarely touch the same lines."""
        return self.operation, self.reason

    def __str__(self) -> str:
        """``HP001 `x.item()` in train (loops.py)``."""
        what = self.operation
        return f"{what.code} `{what.text}` in {what.function or 'the module'} ({what.path})"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a file, and how its path is shown."""

    entries: tuple[Entry, ...]
    shown: str = NAME


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        SourceError: if it is not there, not TOML, of another version, or an entry is not as it must be.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise SourceError(f"{path}: no such baseline; make it with --update-baseline") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: can't be read: {error}") from None
    return parse_baseline(text, str(path))


def parse_baseline(text: str, shown: str = NAME) -> Baseline:
    """Parse a baseline's text; raises as `read_baseline`."""
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SourceError(f"{shown}: not valid TOML: {error}") from None
    if table.get("version") == 1:
        raise SourceError(
            f"{shown}:1: version 1 tells findings by their loops; delete the file and make it anew with "
            "--update-baseline"
        )
    if table.get("version") != 2:
        raise SourceError(f"{shown}:1: version must be 2")
    unknown = sorted(table.keys() - {"version", "finding"})
    if unknown:
        raise SourceError(f"{shown}:1: unknown key {unknown[0]}; known are version and [[finding]]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == "[[finding]]"]
    entries = table.get("finding", [])
    if not isinstance(entries, list) or len(entries) != len(lines):
        raise SourceError(f"{shown}:1: findings must be [[finding]] tables, each head on a line of its own")
    return Baseline(
        tuple(_entry(item, f"{shown}:{line}", line) for item, line in zip(entries, lines, strict=True)), shown
    )


def _entry(item: dict[str, object], where: str, line: int) -> Entry:
    for name in item:
        if name == "owner":
            raise SourceError(f"{where}: entries have no owner any more; take out the lines with owner = ...")
        if name not in _KEYS:
            raise SourceError(f"{where}: unknown key {name}; known are {', '.join(sorted(_KEYS))}")
    for name in ("code", "text", "path", "heat", "reason"):
        value = item.get(name)
        if not isinstance(value, str) or not value.strip():
            raise SourceError(f"{where}: {name} must be there, a string that is not empty")
    if item["code"] not in CODES:
        raise SourceError(f"{where}: no such code {item['code']}")
    heat = next((known for known in HEATS if known == item["heat"]), None)
    if heat is None:
        raise SourceError(f"{where}: no such heat {item['heat']}; known are {', '.join(HEATS)}")
    function, count = item.get("function", ""), item.get("count", 1)
    if not isinstance(function, str):
        raise SourceError(f"{where}: function must be a string")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SourceError(f"{where}: count must be a number, 1 or more")
    operation = Operation(str(item["code"]), str(item["text"]), str(item["path"]), function, heat)
    return Entry(operation, count, str(item["reason"]), line)


def render_baseline(entries: Iterable[Entry]) -> str:
    """A baseline's text: sorted, without a line number, the same for the same entries."""
    return _HEAD + "".join(_render(entry) for entry in sorted(entries, key=lambda entry: entry.order))


def _render(entry: Entry) -> str:
    what = entry.operation
    values = {
        "code": what.code,
        "text": what.text,
        "path": what.path,
        "function": what.function,
        "heat": what.heat or "",
        "count": entry.count if entry.count > 1 else "",
        "reason": entry.reason,
    }
    lines = [f"{name} = {_quoted(value)}" for name, value in values.items() if value]
    return "\n".join(["", "[[finding]]", *lines]) + "\n"


def _quoted(value: str | int) -> str:
    """A TOML string or number; JSON's escapes are TOML's, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
