"""The baseline file: findings that a project has accepted, each with a reason and an owner."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codemods.facts.source import SourceError
from codemods.hotpath.codes import CODES
from codemods.hotpath.results import Finding, Key, Report

NAME = "hotpath-baseline.toml"
_HEAD = """\
# Stalls in hot loops that this project accepts; made by `codemods hotpath --update-baseline`.
# Entries name no file and no line: they stay true when code is moved. Reasons and owners are for you to edit.
version = 1
"""
_KEYS = {"code", "text", "loop", "calls", "count", "reason", "owner"}


@dataclass(frozen=True, slots=True)
class Entry:
    """So many findings of one key, why they are accepted, and who answers for them."""

    key: Key
    count: int
    reason: str
    owner: str
    line: int = 0

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts entries so that two branches that add some rarely touch the same lines."""
        key = self.key
        return key.code, key.text, key.loop, key.calls, self.reason, self.owner


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
        raise SourceError(
            f"{path}: no such baseline; make it with --update-baseline --reason TEXT --owner NAME"
        ) from None
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
    if table.get("version") != 1:
        raise SourceError(f"{shown}:1: version must be 1")
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
        if name not in _KEYS:
            raise SourceError(f"{where}: unknown key {name}; known are {', '.join(sorted(_KEYS))}")
    for name in ("code", "text", "loop", "reason", "owner"):
        value = item.get(name)
        if not isinstance(value, str) or not value.strip():
            raise SourceError(f"{where}: {name} must be there, a string that is not empty")
    if item["code"] not in CODES:
        raise SourceError(f"{where}: no such code {item['code']}")
    calls, count = item.get("calls", []), item.get("count", 1)
    if not isinstance(calls, list) or not all(isinstance(name, str) for name in calls):
        raise SourceError(f"{where}: calls must be a list of strings")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise SourceError(f"{where}: count must be a number, 1 or more")
    key = Key(str(item["code"]), str(item["text"]), str(item["loop"]), tuple(calls))
    return Entry(key, count, str(item["reason"]), str(item["owner"]), line)


def render_baseline(entries: Iterable[Entry]) -> str:
    """A baseline's text: sorted, without a line number, the same for the same entries."""
    return _HEAD + "".join(_render(entry) for entry in sorted(entries, key=lambda entry: entry.order))


def _render(entry: Entry) -> str:
    lines = ["", "[[finding]]", f"code = {_quoted(entry.key.code)}", f"text = {_quoted(entry.key.text)}"]
    lines.append(f"loop = {_quoted(entry.key.loop)}")
    if entry.key.calls:
        lines.append(f"calls = [{', '.join(map(_quoted, entry.key.calls))}]")
    if entry.count > 1:
        lines.append(f"count = {entry.count}")
    lines += [f"reason = {_quoted(entry.reason)}", f"owner = {_quoted(entry.owner)}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline brought up to date: what was added to it, and what was taken out (entry, how many)."""

    baseline: Baseline
    added: tuple[Finding, ...]
    pruned: tuple[tuple[Entry, int], ...]


def update_baseline(report: Report, baseline: Baseline, *, reason: str, owner: str) -> Update:
    """Take out what nothing matches, move entries whose code has moved, add what is not in it yet."""
    from codemods.hotpath.compare import compare

    compared = compare(report, baseline)
    counted: Counter[tuple[Key, str, str]] = Counter()
    for accepted in compared.accepted:
        assert accepted.entry is not None
        counted[accepted.finding.key, accepted.entry.reason, accepted.entry.owner] += 1
    added = tuple(finding for finding in compared.new if finding.loop is not None)
    for finding in added:
        counted[finding.key, reason, owner] += 1
    entries = [Entry(key, count, why, who) for (key, why, who), count in counted.items()]
    entries.sort(key=lambda entry: entry.order)
    return Update(Baseline(tuple(entries), baseline.shown), added, compared.stale)
