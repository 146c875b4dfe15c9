"""What a tree says of the gate, its runs, hot loops, plans and what was accepted."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ci.config import GateConfig, load_config
from ci.policy.place import Found, Piece, Side, file, said, tables
from codemods.hotpath.config import read_config
from codemods.hotpath.pragmas import find_pragmas
from codemods.plans import PlanError, load_plan
from codemods.program import python_files, seams_of, shown_path
from golden.check.fixtures import FOLDER
from golden.record import load_run
from golden.record.files import RUNS_FOLDER

PROJECT = "pyproject.toml"
_IDENTITY = ("code", "text", "function", "heat")
# Where forges and build servers look for what they run.
_WORKFLOWS = (
    ".github/*",
    ".gitlab-ci.yml",
    ".gitlab/*",
    ".circleci/*",
    ".ci/*",
    ".pre-commit-config.yaml",
    ".travis.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
)


def run_names(config: GateConfig) -> list[str]:
    """The golden runs that a configuration names."""
    timed = [config.throughput.run] if config.throughput else []
    return list(dict.fromkeys([*config.runs, *config.counts, *config.syncs, *timed]))


def gate(side: Side) -> Iterator[Found]:
    """Yield the gate's own table; a tree without one demands nothing."""

    def load() -> dict[str, Any]:
        has_one = "gate" in tables(side.text(PROJECT), PROJECT).get("tool", {})
        return (load_config(side.root) if has_one else GateConfig()).model_dump(mode="json")

    yield Found("", PROJECT, load)


def runs(side: Side) -> Iterator[Found]:
    """Yield the run files that the gate names."""
    for name in dict.fromkeys(name.partition(".")[0] for name in run_names(side.config)):
        path = RUNS_FOLDER / f"{name}.toml"
        if (side.root / path).is_file():
            yield Found(f"run.{name}", path.as_posix(), partial(_run, side.root / path))


def _run(path: Path) -> dict[str, Any]:
    return load_run(path).model_dump(mode="json")


def goldens(side: Side) -> Iterator[Found]:
    """Yield the goldens of those runs."""
    for name in dict.fromkeys(name.partition(".")[0] for name in run_names(side.config)):
        for path in sorted((side.root / FOLDER / name).glob("*.json")):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            piece = Piece(path.name, content)
            yield said(f"golden.{name}", (FOLDER / name / path.name).as_posix(), piece, path.name)


def hotpath(side: Side) -> Iterator[Found]:
    """Yield the settings of the hot-path check."""
    yield Found("tool.codemods.hotpath", PROJECT, lambda: dataclasses.asdict(read_config(side.root)))


def baseline(side: Side) -> Iterator[Found]:
    """Yield the stalls that a baseline file accepts, with how many there are of each."""
    wanted = side.config.hotpath
    path = wanted.baseline if wanted else None
    if path is None:
        return
    found: Counter[tuple[str, str, str, str]] = Counter()
    for entry in tables(side.text(path), path).get("finding", ()):
        code, text, function, heat = (str(entry.get(part, "")) for part in _IDENTITY)
        found[code, text, function, heat] += int(entry.get("count", 1))
    for key, count in sorted(found.items()):
        piece = Piece(f"{key[0]} {key[1]} in {key[2] or 'a module'}, per {key[3]}", count)
        yield said("hotpath.baseline", path, piece, key)


def quiet_comments(side: Side) -> Iterator[Found]:
    """Yield comments that let a stall pass or make a loop cold.

    A comment is known by its text and by the line of code that it speaks for: on another line it is new.
    """
    return (found for found in _comments(side) if found.name != "hotpath.loop")


def loop_comments(side: Side) -> Iterator[Found]:
    """Yield comments that make a loop hot."""
    return (found for found in _comments(side) if found.name == "hotpath.loop")


def _comments(side: Side) -> Iterator[Found]:
    seen: Counter[tuple[str, str]] = Counter()
    for path, text in read_below(side.root, side.config.hotpath.paths if side.config.hotpath else ()).items():
        lines = text.splitlines()
        for pragma in find_pragmas(path, text):
            code = " ".join(lines[pragma.target - 1].partition("# hotpath:")[0].split())
            seen[pragma.text, code] += 1
            number = seen[pragma.text, code]
            piece = Piece(f"{pragma.text} at `{code}`" + (f" ({number})" if number > 1 else ""))
            yield said(f"hotpath.{pragma.mark or 'allow'}", path, piece, piece.shown)


def read_below(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """The files that checks read below some paths."""
    files = (each for path in paths for each in python_files(root / path) if each.is_file())
    return {shown_path(each, root): each.read_text("utf-8", "replace") for each in files}


def accepted(side: Side) -> Iterator[Found]:
    """Yield what a change was allowed to change."""
    path = side.config.evidence.accepted if side.config.evidence else None
    if path is None or not (side.root / path).is_file():
        return
    for entry in tables(side.text(path), path).get("accepted", ()):
        name = str(entry.get("id"))
        piece = Piece(f"{entry.get('what') or entry.get('reason')}")
        yield said(f"evidence.accepted.{name}", path, piece, name)


def plans(side: Side) -> Iterator[Found]:
    """Yield plans, and the frozen sources of those that are only carried out."""
    for pattern in (*side.config.plans, *side.config.carried_out):
        for path in sorted(side.root.glob(pattern)):
            yield file(f"plans.{path.stem}", side, shown_path(path, side.root))
            if pattern in side.config.carried_out and (source := _source(path)):
                yield file(f"plans.{path.stem}", side, source)


def assumptions(side: Side) -> Iterator[Found]:
    """Yield the assumptions that plans accept; the gate's configuration names the plans."""
    for pattern in (*side.config.plans, *side.config.carried_out):
        for path in sorted(side.root.glob(pattern)):
            shown = shown_path(path, side.root)
            try:
                plan, _ = load_plan(path, shown)
            except PlanError as error:
                raise ValueError(str(error)) from None
            for each in plan.accept:
                piece = Piece(f"{each.code} ({each.reason})")
                yield said(f"plans.{path.stem}.accept", shown, piece, (shown, each.code))


def _source(path: Path) -> str:
    try:
        source = tomllib.loads(path.read_text("utf-8")).get("source", "")
    except (OSError, ValueError):
        return ""
    return source if isinstance(source, str) else ""


def seams(side: Side) -> Iterator[Found]:
    """Yield the names that tests replace."""
    for wanted in side.config.seams:
        if not (side.root / wanted.file).is_file():
            continue
        tests = [side.root / folder for folder in wanted.tests]
        for seam in seams_of(side.root / wanted.file, tests=tests, root=side.root):
            piece = Piece(seam.name)
            yield said(f"seams.{wanted.file}.replaced", wanted.file, piece, seam.name)


def workflows(side: Side) -> Iterator[Found]:
    """Yield what runs the gate, where forges and build servers look for it."""
    for path in side.files:
        if any(fnmatch.fnmatch(path, pattern) for pattern in _WORKFLOWS) and "golden-gate" in side.text(path):
            yield file("workflow", side, path)
