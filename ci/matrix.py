"""The README's two commands in an environment for each Python and torch that users have: one table.

Not for continuous integration: every environment with an ordinary torch fetches about 3 GB.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import click
from rich.console import Console
from rich.table import Table

CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
# Without importing them: beside some builds of torch a plain import of torchvision fails.
_VERSIONS = """
import importlib.metadata, importlib.util, json, pathlib, platform, runpy
torch = pathlib.Path(importlib.util.find_spec("torch").origin).with_name("version.py")
versions = runpy.run_path(str(torch))["__version__"], importlib.metadata.version("torchvision")
print(json.dumps([platform.python_version(), *versions]))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python, and the versions of packages that differ from those of constraints.txt."""

    name: str
    python: str
    pins: Mapping[str, str]


# `===` compares text, so that a CPU-only build that lies at hand is not taken for the ordinary one.
ENVIRONMENTS = (
    Environment("3.11-cpu", "3.11", {"torch": "==2.13.0+cpu"}),
    Environment("3.11", "3.11", {"torch": "===2.13.0"}),
    Environment("3.12", "3.12", {"torch": "===2.13.0"}),
    Environment("3.13", "3.13", {"torch": "===2.13.0"}),
    # What our GPU runners have; this torch refuses setuptools from version 82 on.
    Environment(
        "3.12-gpu", "3.12", {"torch": "===2.11.0", "torchvision": "===0.26.0", "setuptools": "==81.0.0"}
    ),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """What both commands ended with; versions are Python's, torch's and torchvision's."""

    versions: tuple[str, str, str]
    demo: int
    demo_seconds: float
    test: int
    test_seconds: float
    passed: int
    failed: int
    skips: tuple[tuple[str, int], ...]

    @property
    def green(self) -> bool:
        return self.demo == self.test == self.failed == 0 and self.passed > 0


@dataclass(frozen=True, slots=True)
class NotRun:
    """Why an environment could not be had, and what helps."""

    reason: str


Outcome = Ran | NotRun


class Matrix:
    """Environments below a folder: each a clone at one commit, with a `.venv` that is kept."""

    def __init__(self, repository: Path, commit: str, folder: Path, interpreters: Mapping[str, str]) -> None:
        self._repository = repository
        self._commit = commit
        self._folder = folder
        self._interpreters = interpreters

    def run(self, environment: Environment) -> Outcome:
        """Clone, install, `make demo`, `make test`; what they print goes to a log beside the clone."""
        python = self._interpreters.get(environment.python) or _found(environment.python)
        if python is None:
            return NotRun(f"no Python {environment.python}: pass --python {environment.python}=PATH")
        clone = self._folder / environment.name / "clone"
        if not clone.exists():
            _git(self._folder, "clone", "--quiet", "--no-checkout", str(self._repository), str(clone))
        _git(clone, "fetch", "--quiet", str(self._repository), self._commit)
        _git(clone, "reset", "--quiet", "--hard", self._commit)
        _git(clone, "clean", "-fdq")
        _constrain(clone / "constraints.txt", environment.pins)
        results = clone.parent / "results.xml"
        results.unlink(missing_ok=True)
        with (clone.parent / "log").open("w") as log:
            set_up, _ = _make("set-up", python, clone, log)
            if set_up:
                return NotRun(f"`make set-up` failed; its output is in {log.name}{_hint(environment)}")
            demo, demo_seconds = _make("demo", python, clone, log)
            wanted = {"PYTEST_ADDOPTS": f"--junitxml={results}", "TORCH_COMPILER": "loaded"}
            test, test_seconds = _make("test", python, clone, log, **wanted)
        counts = _counts(results)
        return Ran(_versions(clone), demo, demo_seconds, test, test_seconds, *counts)


def _make(target: str, python: str, clone: Path, log: TextIO, **variables: str) -> tuple[int, float]:
    begin = time.monotonic()
    done = subprocess.run(
        ["make", f"PYTHON={python}", target],
        cwd=clone,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, time.monotonic() - begin


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def _found(version: str) -> str | None:
    """An interpreter of this version: on PATH, or one of pyenv's."""
    for candidate in (
        f"python{version}",
        *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
    ):
        path = shutil.which(str(candidate))
        asked = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if path and subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return path
    return None


def _constrain(constraints: Path, pins: Mapping[str, str]) -> None:
    lines = [line for line in constraints.read_text().splitlines() if line.partition("==")[0] not in pins]
    wanted = "\n".join([*lines, *(name + version for name, version in pins.items())]) + "\n"
    constraints.write_text(wanted)


def _hint(environment: Environment) -> str:
    cpu_only = "+cpu" in environment.pins.get("torch", "")
    return f"; CPU-only builds: PIP_EXTRA_INDEX_URL={CPU_WHEELS}" if cpu_only else ""


def _versions(clone: Path) -> tuple[str, str, str]:
    asked = [str(clone / ".venv/bin/python"), "-c", _VERSIONS]
    python, torch, torchvision = json.loads(subprocess.run(asked, capture_output=True, text=True).stdout)
    return python, torch, torchvision


def _counts(results: Path) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """Tests that passed and failed, and how many were skipped for each reason."""
    if not results.exists():
        return 0, 0, ()
    cases = list(ElementTree.parse(results).iter("testcase"))
    skips = Counter(skip.get("message", "") for case in cases for skip in case.iter("skipped"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    return len(cases) - failed - skips.total(), failed, tuple(sorted(skips.items()))


def table_of(outcomes: Mapping[str, Outcome]) -> Iterator[Table | str]:
    """The table, then each reason for a skip or for an environment that could not be had."""
    table = Table(*("name", "python", "torch", "torchvision"), box=None, padding=(0, 1, 0, 0))
    for title in ("demo", "test", "passed", "failed", "skipped"):
        table.add_column(title, justify="right")
    reasons: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        if isinstance(outcome, NotRun):
            table.add_row(name, "not run")
            reasons[outcome.reason] = [name]
            continue
        commands = (_told(outcome.demo, outcome.demo_seconds), _told(outcome.test, outcome.test_seconds))
        skipped = sum(count for _, count in outcome.skips)
        counts = (str(count) for count in (outcome.passed, outcome.failed, skipped))
        table.add_row(name, *outcome.versions, *commands, *counts)
        for reason, count in outcome.skips:
            reasons.setdefault(f"skipped, {reason}", []).append(f"{name} {count}")
    yield table
    yield from (f"{reason}: {', '.join(where)}" for reason, where in reasons.items())


def _told(status: int, seconds: float) -> str:
    return f"{seconds:.0f} s" if status == 0 else f"exit {status}"


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--folder", type=click.Path(path_type=Path), default=Path("build/matrix"), help="Keeps environments."
)
@click.option("--python", "pythons", multiple=True, metavar="VERSION=PATH", help="An interpreter to use.")
def main(names: Sequence[str], folder: Path, pythons: Sequence[str]) -> None:
    """Run `make demo` and `make test` in each environment, or in those that are NAMES."""
    known = {environment.name: environment for environment in ENVIRONMENTS}
    if unknown := [name for name in names if name not in known]:
        raise click.UsageError(f"no environment {unknown[0]}; there are {', '.join(known)}")
    if wrong := [text for text in pythons if "=" not in text]:
        raise click.UsageError(f"--python {wrong[0]}: expected VERSION=PATH")
    console = Console(highlight=False)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    if not commit:
        raise click.UsageError("no commit here: run it in a clone of the repository")
    matrix = Matrix(Path.cwd(), commit, folder, dict(text.split("=", 1) for text in pythons))
    console.print(
        f"Each environment with an ordinary torch fetches about 3 GB and takes 5 GB of {folder}; "
        "what is there is used again.",
        soft_wrap=True,
    )
    console.print(f"commit {commit[:12]}, without what is not committed")
    outcomes: dict[str, Outcome] = {}
    for environment in [known[name] for name in names] or ENVIRONMENTS:
        console.print(f"{environment.name}: `make demo`, `make test` ...", soft_wrap=True)
        outcomes[environment.name] = matrix.run(environment)
    for part in table_of(outcomes):
        console.print(part, soft_wrap=isinstance(part, str), markup=False)
    green = all(isinstance(outcome, Ran) and outcome.green for outcome in outcomes.values())
    sys.exit(0 if green else 1)


if __name__ == "__main__":
    main(prog_name="python -m ci.matrix")
