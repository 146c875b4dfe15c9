"""The programs that the static half is measured on: where they come from, unpacked into a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = Path(__file__).with_name("packages.txt")
ENVIRONMENT = "REAL_PROGRAMS"
KEPT = Path("build") / "real"


class CorpusError(Exception):
    """A program that can't be had; the message is one line with the way out."""


@dataclass(frozen=True, slots=True)
class Program:
    """A repository or a package: its name in the tables, the archive with its files, a plan for it."""

    name: str
    archive: Path
    plan: Path | None = None


def shared() -> Path:
    """The folder with the archives: beside the checkout, or where the environment says.

    Raises:
        CorpusError: if it is not there.
    """
    told = os.environ.get(ENVIRONMENT)
    places = [Path(told)] if told else [ROOT.parent / "shared" / "real"]
    for place in places:
        if (place / "repos").is_dir():
            return place.resolve()
    raise CorpusError(
        f"{places[0]} has no folder repos; help: name the folder that has one, with {ENVIRONMENT}=DIR"
    )


def repositories() -> list[Program]:
    """The public repositories, and that of the case study with its plan."""
    place = shared()
    found = [Program(_name(archive), archive) for archive in sorted((place / "repos").glob("*.tar.gz"))]
    studied = place / "flagship"
    return found + [
        Program(_name(archive), archive, studied / "plan.toml") for archive in studied.glob("*.tar.gz")
    ]


def _name(archive: Path) -> str:
    """The name of an archive without the commit at its end."""
    return archive.name.removesuffix(".tar.gz").rpartition("-")[0]


def packages() -> list[Program]:
    """The pinned packages of the registry, fetched once and kept; nothing is installed or run.

    Raises:
        CorpusError: if one is not there and can't be fetched, or is another one than the pinned.
    """
    kept = ROOT / KEPT
    wanted = pinned()
    if any(not _kept(kept, name) for name in wanted):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(PACKAGES)]
        done = subprocess.run([*command, "-d", str(kept)], capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
            raise CorpusError(f"{PACKAGES.name}: {last}; help: leave the packages out with --no-packages")
    return [Program(name, _kept(kept, name)[0]) for name in sorted(wanted)]


def pinned() -> list[str]:
    """Names of the pinned packages."""
    lines = PACKAGES.read_text(encoding="utf-8").splitlines()
    return [line.partition("==")[0] for line in lines if "==" in line and not line.startswith("#")]


def _kept(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name.replace('-', '_')}-*.whl"))


def unpack(program: Program, folder: Path) -> Path:
    """Unpack a program below a folder, as a git repository with one commit; its root."""
    root = folder / program.name
    root.mkdir()
    if program.archive.suffix == ".whl":
        with zipfile.ZipFile(program.archive) as wheel:
            wheel.extractall(root)
    else:
        with tarfile.open(program.archive) as archive:
            archive.extractall(root, filter="data")
        (inner,) = root.iterdir()
        root = inner
    identity = ["-c", "user.name=real", "-c", "user.email=real@example.invalid", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A", "-f"], [*identity, "commit", "-q", "-m", "as unpacked"]):
        subprocess.run(["git", "-c", "core.autocrlf=false", *command], cwd=root, check=True)
    return root


def python_files(root: Path) -> list[Path]:
    """The Python files of a program, sorted by path."""
    return sorted(path for path in root.rglob("*.py") if path.is_file() and ".git" not in path.parts)
