"""The wheel, built once, and environments that see no more than it asks for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


class Environment:
    """A virtual environment, with what was installed into it."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        (self.site,) = (folder / "lib").glob("python*/site-packages")

    def run(
        self, program: str, *arguments: str | Path, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its programs, as a stranger would: without this repository's settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [self.bin / program, *arguments],
            cwd=cwd,
            env={**kept, "CI": "", "COLUMNS": "120", **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def needed(requirements: Sequence[str], extra: str = "") -> set[str]:
    """The distributions that some requirements lead to, among those that are installed here."""
    found: set[str] = set()
    for text in requirements:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name == "esper-harness":
            # An extra that includes others.
            for included in wanted.extras:
                found |= needed(requirements, included)
            continue
        try:
            asked = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # what only other systems need; a test that needs it fails by itself
        found |= {name} | _closure(name, asked)
    return found


def _closure(name: str, asked: Sequence[str]) -> set[str]:
    found: set[str] = set()
    # A requirement, and the extras for which the one that states it is wanted.
    waiting = [(Requirement(text), frozenset([""])) for text in asked]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted, extras = waiting.pop()
        key = re.sub(r"[-_.]+", "-", wanted.name).lower()
        inner = frozenset(["", *wanted.extras])
        if (key, inner) in seen or not _applies(wanted, extras):
            continue
        try:
            waiting += [(Requirement(text), inner) for text in distribution(key).requires or []]
        except PackageNotFoundError:
            continue
        seen.add((key, inner))
        found.add(key)
    return found - {name}


def _applies(wanted: Requirement, extras: frozenset[str]) -> bool:
    return wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)


def show(names: set[str], site: Path) -> None:
    """Link the files of some distributions into a folder of packages."""
    for name in names:
        found = distribution(name)
        for top in {
            file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            place = Path(str(found.locate_file(top)))
            if place.exists() and not (site / top).exists() and place.suffix != ".pth":
                (site / top).symlink_to(place)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tools' wheel."""
    return build(ROOT, tmp_path_factory.mktemp("tools"))


def build(project: Path, folder: Path) -> Path:
    """Build the wheel of a project."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def metadata(wheel: Path) -> list[str]:
    """What a wheel requires."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        text = archive.read(name).decode()
    return re.findall(r"^Requires-Dist: (.+)$", text, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Environments with the wheel and one of its extras, and none of what that doesn't ask for."""
    made: dict[str, Environment] = {}

    def get(extra: str) -> Environment:
        if extra not in made:
            made[extra] = bare(tmp_path_factory.mktemp("environment"), metadata(wheel), extra)
            install(made[extra], wheel)
        return made[extra]

    return get


def bare(folder: Path, requirements: Sequence[str], extra: str) -> Environment:
    """An environment that has what a wheel requires, but not the wheel."""
    venv.create(folder, with_pip=False, symlinks=True)
    environment = Environment(folder)
    show(needed(requirements, extra), environment.site)
    return environment


def install(environment: Environment, wheel: Path) -> None:
    """Install a wheel with pip, and nothing else."""
    pip = [sys.executable, "-m", "pip", "--python", str(environment.bin / "python"), "install"]
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, *options, str(wheel)], check=True, capture_output=True)
