"""Goldens on disk: one file per run and fingerprint, and one for what holds everywhere.

A file is sealed by a digest over its own content and appears whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash
from pydantic import BaseModel, ValidationError

from golden.record import Run
from golden.trace.errors import UnusableInput
from golden.trace.trace import Records, Trace, Unstable, deciding, gap, trace_of

FORMAT = 3
FOLDER = Path("golden") / "fixtures"
COMMON = "common.json"
_WIDTH = 300


class Golden(BaseModel, extra="forbid", frozen=True):
    """The bits of one run under one fingerprint, and under those that were seen to give the same.

    The one for what holds on every machine has no fingerprint.
    """

    format: int = FORMAT
    run: str
    definition: str
    fingerprint: dict[str, str] = {}
    also: list[dict[str, str]] = []
    # What differed between two runs as it was recorded; the records are without it.
    unstable: list[Unstable] = []
    records: Records

    def covers(self, fingerprint: Mapping[str, str]) -> bool:
        """Tell whether another result under this fingerprint can only come from the code."""
        return any(not gap(known, fingerprint) for known in (self.fingerprint, *self.also))

    def trace(self, now: Trace) -> Trace:
        """Return its trace, to be compared with that of a run of the same definition."""
        about = now.about.model_copy(update={"unstable": [], "event_files": {}})
        return trace_of(about, self.records, Path(os.devnull))


def golden_path(root: Path, run: str, fingerprint: Mapping[str, str]) -> Path:
    """Return the path for the golden of a run under a fingerprint."""
    parts = deciding(fingerprint)
    key = xxhash.xxh3_64_hexdigest(json.dumps(parts, sort_keys=True).encode())[:12]
    return root / FOLDER / run / f"{parts.get('profile', 'no-torch')}-{parts.get('device', 'cpu')}-{key}.json"


def common_path(root: Path, run: str) -> Path:
    """Return the path for the part of a golden that holds on every machine."""
    return root / FOLDER / run / COMMON


def dump(golden: Golden) -> str:
    """Return a golden as the text of its file."""
    table = golden.model_dump(mode="json", exclude_defaults=True)
    return _text({"seal": _seal(table), "format": FORMAT, **table}) + "\n"


def _text(value: Any, indent: int = 0) -> str:
    """Return JSON of which everything that fits is on one line."""
    text = json.dumps(value)
    if (indent and len(text) <= _WIDTH) or not isinstance(value, dict | list):
        return text
    indent += 1
    if isinstance(value, dict):
        parts, ends = [f"{json.dumps(key)}: {_text(item, indent)}" for key, item in value.items()], "{}"
    else:
        parts, ends = [_text(item, indent) for item in value], "[]"
    inside = ",".join(f"\n{' ' * indent}{part}" for part in parts)
    return f"{ends[0]}{inside}\n{' ' * (indent - 1)}{ends[1]}"


def golden_files(root: Path, run: Run) -> list[Path]:
    """Return the paths of the goldens of a run, in order."""
    return sorted(p for p in (root / FOLDER / run.name).glob("*.json") if p.name != COMMON)


def check_definition(golden: Golden, path: Path, run: Run) -> None:
    """Raise `UnusableInput` if the run file has changed since the golden was recorded."""
    if golden.definition != run.definition():
        raise UnusableInput(f"golden {path} is of another version of run file {run.name}: {_again(run)}")


def _again(run: Run) -> str:
    return f"record it again with `golden record {run.name} --update`"


def load_golden(path: Path, run: Run) -> Golden:
    """Return a golden; `UnusableInput` if it was edited or is damaged."""
    again = _again(run)
    try:
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        seal = table.pop("seal")
        version = table.pop("format")
    except OSError as error:
        raise UnusableInput(f"golden {path} can't be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableInput(f"golden {path} is damaged ({str(error).splitlines()[0]}): {again}") from None
    if version != FORMAT:
        raise UnusableInput(f"golden {path} has format {version}, not {FORMAT}: {again}")
    if seal != _seal(table):
        raise UnusableInput(f"golden {path} was tampered with: its content does not match its seal; {again}")
    try:
        return Golden.model_validate(table)
    except ValidationError as error:
        raise UnusableInput(f"golden {path} is damaged ({error.errors()[0]['msg']}): {again}") from None


def _seal(table: Mapping[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps(table, sort_keys=True).encode())


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise UnusableInput(f"can't write {path}: {error.strerror}") from None
