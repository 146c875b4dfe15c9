"""The items of a tree that are neither its tests nor its modules."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ci.changes.compare import Item
from ci.changes.place import Side, file, sections, tables
from ci.changes.settings import GATE, HOTPATH, LINTER, RUN, settings
from ci.config import GateConfig, load_config
from codemods.api import PlanError, load_plan, python_files, seams_of, shown_path
from codemods.hotpath.config import read_config
from codemods.hotpath.pragmas import find_pragmas
from golden.check.fixtures import FOLDER
from golden.record import load_run
from golden.record.files import RUNS_FOLDER

PROJECT = "pyproject.toml"
_IDENTITY = ("code", "text", "function", "heat")
_LINTER = "importlinter"
# Where forges and build servers look for what they run.
_WORKFLOWS = (
    *(".github/*", ".gitlab-ci.yml", ".gitlab/*", ".circleci/*", ".ci/*", ".pre-commit-config.yaml"),
    *(".travis.yml", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml"),
)


def run_names(config: GateConfig) -> list[str]:
    """Return the golden runs that a configuration names."""
    timed = [config.throughput.run] if config.throughput else []
    return list(dict.fromkeys([*config.runs, *config.counts, *config.syncs, *timed]))


def gate(side: Side) -> Iterator[Item]:
    """Yield the gate's own table; a tree without one demands nothing."""
    has_one = "gate" in tables(side.text(PROJECT), PROJECT).get("tool", {})
    config = load_config(side.root) if has_one else GateConfig()
    return settings("", PROJECT, config.model_dump(mode="json"), GATE)


def runs(side: Side) -> Iterator[Item]:
    """Yield the run files that the gate names."""
    for name in _stems(side):
        path = RUNS_FOLDER / f"{name}.toml"
        if (side.root / path).is_file():
            found = load_run(side.root / path).model_dump(mode="json")
            yield from settings(f"run.{name}", path.as_posix(), found, RUN)


def goldens(side: Side) -> Iterator[Item]:
    """Yield the goldens of those runs."""
    for name in _stems(side):
        for path in sorted((side.root / FOLDER / name).glob("*.json")):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            shown = (FOLDER / name / path.name).as_posix()
            yield Item(f"golden.{name}", shown, path.name, content, path.name, "come")


def _stems(side: Side) -> list[str]:
    return list(dict.fromkeys(name.partition(".")[0] for name in run_names(side.config)))


def hotpath(side: Side) -> Iterator[Item]:
    """Yield the settings of the hot-path check."""
    return settings("tool.codemods.hotpath", PROJECT, dataclasses.asdict(read_config(side.root)), HOTPATH)


def baseline(side: Side) -> Iterator[Item]:
    """Yield the findings that a baseline file accepts, each as often as it does."""
    path = side.config.hotpath.baseline if side.config.hotpath else None
    if path is None:
        return
    found: Counter[tuple[str, ...]] = Counter()
    for entry in tables(side.text(path), path).get("finding", ()):
        found[tuple(str(entry.get(part, "")) for part in _IDENTITY)] += int(entry.get("count", 1))
    for key, count in sorted(found.items()):
        shown = f"{key[0]} {key[1]} in {key[2] or 'a module'}, per {key[3]}"
        for number in range(count):
            yield Item("hotpath.baseline", path, (*key, number), shown=shown, may="go")


def comments(side: Side) -> Iterator[Item]:
    """Yield comments of the hot-path check.

    A comment is known by its text and by the line of code that it is about: on another line it is new.
    """
    seen: Counter[tuple[str, str]] = Counter()
    for path, text in read_below(side.root, side.config.hotpath.paths if side.config.hotpath else ()).items():
        lines = text.splitlines()
        for pragma in find_pragmas(path, text):
            code = " ".join(lines[pragma.target - 1].partition("# hotpath:")[0].split())
            seen[pragma.text, code] += 1
            number = seen[pragma.text, code]
            shown = f"{pragma.text} at `{code}`" + (f" ({number})" if number > 1 else "")
            mark = pragma.mark or "allow"
            yield Item(f"hotpath.{mark}", path, shown, shown=shown, may="neither" if mark == "loop" else "go")


def read_below(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the files that checks read below some paths."""
    files = (each for path in paths for each in python_files(root / path) if each.is_file())
    return {shown_path(each, root): each.read_text("utf-8", "replace") for each in files}


def contracts(side: Side) -> Iterator[Item]:
    """Yield import-linter's contracts, of the file that it reads first."""
    for path in ("setup.cfg", ".importlinter"):
        if (side.root / path).is_file() and f"[{_LINTER}]" in side.text(path):
            return settings(_LINTER, path, {"file": path, **_ini(side.text(path), path)}, LINTER)
    found = tables(side.text(PROJECT), PROJECT).get("tool", {}).get(_LINTER)
    return settings(_LINTER, PROJECT, {"file": PROJECT, **found} if found else None, LINTER)


def root_packages(side: Side) -> list[str]:
    """Return the packages whose imports import-linter checks."""
    names = [each for each in contracts(side) if each.name.startswith(f"{_LINTER}.root_package")]
    return [each.shown for each in names]


def _ini(text: str, shown: str) -> dict[str, Any]:
    """Return a configuration in ini form in the shape of the one in TOML. Raises `ValueError`."""
    every = {
        name: {key: text.strip().split("\n") if "\n" in text else text for key, text in section.items()}
        for name, section in sections(text, shown).items()
    }
    found = [{"name": name, **each} for name, each in every.items() if name.startswith(f"{_LINTER}:")]
    return {**every.get(_LINTER, {}), "contracts": found}


def accepted(side: Side) -> Iterator[Item]:
    """Yield what a change was allowed to change."""
    path = side.config.evidence.accepted if side.config.evidence else None
    if path is None or not (side.root / path).is_file():
        return
    for entry in tables(side.text(path), path).get("accepted", ()):
        shown = str(entry.get("what") or entry.get("reason"))
        yield Item(f"evidence.accepted.{entry.get('id')}", path, shown=shown, may="go")


def plans(side: Side) -> Iterator[Item]:
    """Yield plans, the frozen sources of those that are only carried out, and what plans accept."""
    for pattern in (*side.config.plans, *side.config.carried_out):
        for path in sorted(side.root.glob(pattern)):
            name, shown = f"plans.{path.stem}", shown_path(path, side.root)
            yield file(name, side, shown, may_come=True)
            if pattern in side.config.carried_out and (source := _source(path)):
                yield file(name, side, source, may_come=True)
            for code, text in _assumptions(path, shown):
                yield Item(f"{name}.accept", shown, (shown, code), shown=text, may="go")


def _assumptions(path: Path, shown: str) -> list[tuple[str, str]]:
    """Return the codes of the assumptions that a plan accepts, each with how it is shown."""
    try:
        plan = load_plan(path, shown)
    except PlanError as error:
        return [("", str(error))]
    return [(each.code, f"{each.code} ({each.reason})") for each in plan.accept]


def _source(path: Path) -> str:
    source = tomllib.loads(path.read_text("utf-8")).get("source", "")
    return source if isinstance(source, str) else ""


def seams(side: Side) -> Iterator[Item]:
    """Yield the names that tests replace."""
    for wanted in side.config.seams:
        if (side.root / wanted.file).is_file():
            tests = [side.root / folder for folder in wanted.tests]
            for seam in seams_of(side.root / wanted.file, tests=tests, root=side.root):
                name = f"seams.{wanted.file}.replaced"
                yield Item(name, wanted.file, seam.name, shown=seam.name, may="come")


def workflows(side: Side) -> Iterator[Item]:
    """Yield what runs the gate, where forges and build servers look for it."""
    for path in side.files:
        if any(fnmatch.fnmatch(path, pattern) for pattern in _WORKFLOWS) and "golden-gate" in side.text(path):
            yield file("workflow", side, path, may_come=True)
