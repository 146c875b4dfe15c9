"""Everything that decides what the gate lets pass, at the base and here."""

from __future__ import annotations

import dataclasses
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ci.config import ConfigError, GateConfig, load_config
from ci.policy.compare import Weakening, compare
from ci.policy.contracts import contracts
from ci.policy.rules import GATE, HOTPATH, RUN
from ci.policy.source import pragmas, unread
from codemods.hotpath.config import read_config
from codemods.program import SourceError, read_tools
from golden.check.fixtures import FOLDER
from golden.record import Run, load_run
from golden.record.run import RUNS_FOLDER
from golden.trace.errors import GoldenError

_PROJECT = "pyproject.toml"
_IDENTITY = ("code", "text", "function", "heat")


def weakened(base: Path, head: Path, config: GateConfig) -> list[Weakening] | None:
    """What the tree ``head`` with the configuration ``config`` no longer demands of what ``base`` did.

    None if the base demands nothing: it has no ``[tool.gate]``. What of the base can't be read is
    named as well, since nobody knows what it demanded.
    """
    try:
        if "gate" not in (read_tools(base / _PROJECT, _PROJECT) or {}):
            return None
        demanded = load_config(base)
    except (SourceError, ConfigError) as error:
        return [Weakening("tool.gate", f"the base's can't be read: {error}", _PROJECT)]
    return list(_weakened(base, head, demanded, config))


def _weakened(base: Path, head: Path, before: GateConfig, after: GateConfig) -> Iterator[Weakening]:
    left, right = before.model_dump(mode="json"), after.model_dump(mode="json")
    yield from compare("", left, right, GATE, _PROJECT)
    timed = [before.throughput.run] if before.throughput else []
    for name in dict.fromkeys([*before.runs, *before.counts, *before.reads, *timed]):
        yield from _run(base, head, name)
        yield from _goldens(base, head, name)
    if before.hotpath is not None:
        yield from _hotpath(base, head)
        yield from _baseline(base, head, before, after)
        yield from pragmas(base, head, before.hotpath.paths)
    looked_at = tuple(dict.fromkeys([*(before.hotpath.paths if before.hotpath else ()), *before.fences]))
    if looked_at:
        yield from unread(base, head, looked_at)
    if before.contracts:
        yield from contracts(base, head)


def _run(base: Path, head: Path, name: str) -> Iterator[Weakening]:
    file = RUNS_FOLDER / f"{name.partition('.')[0]}.toml"
    if not (base / file).is_file():
        return
    label, path = f"run.{file.stem}", file.as_posix()
    if not (head / file).is_file():
        yield Weakening(label, "is gone", path)
        return
    try:
        before = load_run(base / file)
    except GoldenError as error:
        yield Weakening(label, f"the base's can't be read: {error}", path)
        return
    try:
        after = load_run(head / file)
    except GoldenError as error:
        yield Weakening(label, f"can't be read: {error}", path)
        return
    yield from compare(label, _dump(before), _dump(after), RUN, path)


def _dump(run: Run) -> dict[str, Any]:
    return run.model_dump(mode="json")


def _goldens(base: Path, head: Path, name: str) -> Iterator[Weakening]:
    """Goldens for other machines may come; those that are there stay."""
    run = name.partition(".")[0]
    folder = FOLDER / run
    for path in sorted((base / folder).glob("*.json")):
        here = head / folder / path.name
        what = "is gone" if not here.is_file() else "is replaced"
        if what == "is gone" or here.read_bytes() != path.read_bytes():
            yield Weakening(f"golden.{run}", f"{path.name} {what}", (folder / path.name).as_posix())


def _hotpath(base: Path, head: Path) -> Iterator[Weakening]:
    name = "tool.codemods.hotpath"
    try:
        before = dataclasses.asdict(read_config(base))
    except SourceError as error:
        yield Weakening(name, f"the base's can't be read: {error}", _PROJECT)
        return
    try:
        after = dataclasses.asdict(read_config(head))
    except SourceError as error:
        yield Weakening(name, f"can't be read: {error}", _PROJECT)
        return
    yield from compare(name, before, after, HOTPATH, _PROJECT)


def _baseline(base: Path, head: Path, before: GateConfig, after: GateConfig) -> Iterator[Weakening]:
    name = before.hotpath.baseline if before.hotpath else None
    now = after.hotpath.baseline if after.hotpath else None
    if name is None or now is None:
        return
    added = _entries(head / now) - _entries(base / name)
    for (code, text, function, heat), count in sorted(added.items()):
        where = f"in {function or 'a module'}, per {heat}"
        yield Weakening("hotpath.baseline", f"accepts {count} more of {code} {text} {where}", now)


def _entries(path: Path) -> Counter[tuple[str, str, str, str]]:
    found: Counter[tuple[str, str, str, str]] = Counter()
    for entry in (_toml(path) or {}).get("finding", ()):
        code, text, function, heat = (str(entry.get(part, "")) for part in _IDENTITY)
        found[code, text, function, heat] += int(entry.get("count", 1))
    return found


def _toml(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
