"""Reports of earlier runs, by the content of everything that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from codemods.hotpath.config import Config
from codemods.hotpath.results import Allowed, Finding, Loop, Place, Report, Step
from codemods.hotpath.trees import File

_KEPT = 32


class Cache:
    """One report in a folder: that of these files with this configuration."""

    def __init__(self, folder: Path, files: Sequence[File], config: Config) -> None:
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((_tool(), sys.version_info[:2], config)).encode())
        for file in files:
            digest.update(b"%d\0%d\0" % (len(file.path), len(file.data)))
            digest.update(file.path.encode("utf-8", "surrogateescape"))
            digest.update(file.module.encode("utf-8", "surrogateescape"))
            digest.update(file.data)
            digest.update(repr(file.problem).encode())
        self.folder = folder
        self.path = folder / f"{digest.hexdigest()}.json"

    def load(self) -> Report | None:
        """The report, if it is there and whole."""
        try:
            return _decode(json.loads(self.path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def store(self, report: Report) -> None:
        """Keep a report; a folder that can't be written is no error."""
        with suppress(OSError):
            if not self.folder.exists():
                self.folder.mkdir(parents=True)
                (self.folder / ".gitignore").write_text("*\n")
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(_encode(report), file, separators=(",", ":"))
            os.replace(name, self.path)  # noqa: PTH105 (as atomic as it gets, also on Windows)
            entries = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for entry in entries[:-_KEPT]:
                entry.unlink()


def _tool() -> list[tuple[str, int, int]]:
    """List the files of the checker itself, so that another version of it starts afresh."""
    folders = [Path(__file__).parents[1] / name for name in ("hotpath", "program", "device")]
    found = []
    for folder in folders:
        with os.scandir(folder) as entries:
            found += [
                (entry.name, entry.stat().st_mtime_ns, entry.stat().st_size)
                for entry in entries
                if entry.name.endswith(".py")
            ]
    return sorted(found)


def _encode(report: Report) -> dict[str, Any]:
    return {
        "findings": [_finding(finding) for finding in report.findings],
        "allowed": [[_finding(item.finding), item.reason] for item in report.allowed],
        "loops": [_loop(loop) for loop in report.loops],
        "files": report.files,
        "lines": report.lines,
        "truncated": [_place(place) for place in report.truncated],
        "functions": report.functions,
        "followed": report.followed,
        "unfollowed": [[_place(place), text, why] for place, text, why in report.unfollowed],
        "hidden": report.hidden,
        "tests": report.tests,
        "contents": report.contents,
        "bodies": [[*name, lines] for name, lines in report.bodies.items()],
    }


def _place(place: Place) -> list[Any]:
    return [place.path, place.line, place.column, place.end_line, place.end_column]


def _loop(loop: Loop) -> list[Any]:
    return [_place(loop.place), loop.header, loop.function, loop.last_line, loop.heat]


def _finding(finding: Finding) -> list[Any]:
    return [
        finding.code,
        finding.text,
        _place(finding.place),
        finding.function,
        None if finding.loop is None else _loop(finding.loop),
        [[_place(step.place), step.function] for step in finding.steps],
        finding.rare,
    ]


def _decode(data: dict[str, Any]) -> Report:
    return Report(
        findings=tuple(map(_as_finding, data["findings"])),
        allowed=tuple(Allowed(_as_finding(item), reason) for item, reason in data["allowed"]),
        loops=tuple(map(_as_loop, data["loops"])),
        files=data["files"],
        lines=data["lines"],
        truncated=tuple(Place(*place) for place in data["truncated"]),
        functions=data["functions"],
        followed=data["followed"],
        unfollowed=tuple((Place(*place), text, why) for place, text, why in data["unfollowed"]),
        hidden=tuple((heat, number) for heat, number in data["hidden"]),
        tests=data["tests"],
        contents=data["contents"],
        bodies={(path, name): tuple(lines) for path, name, lines in data["bodies"]},
    )


def _as_loop(data: list[Any]) -> Loop:
    place, header, function, last_line, heat = data
    return Loop(Place(*place), header, function, last_line, heat)


def _as_finding(data: list[Any]) -> Finding:
    code, text, place, function, loop, steps, rare = data
    return Finding(
        code,
        text,
        Place(*place),
        function,
        None if loop is None else _as_loop(loop),
        tuple(Step(Place(*where), name) for where, name in steps),
        rare,
    )
