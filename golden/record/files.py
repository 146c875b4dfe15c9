"""Run files: where they are, and reading them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from esper_harness.keys import UNKNOWN, first_problem
from golden.record.run import Run
from golden.trace.errors import UnusableInput

RUNS_FOLDER = Path("golden") / "runs"
# Keys of earlier versions, and what to say instead.
_EARLIER = dict.fromkeys(
    ("env.path", "everywhere.fields", "output_mib", "shares_device", "state_mib", "syncs", "threads"),
    "leave it out",
)
_EARLIER["entry"] = 'say command = ["python", "-c", "import MODULE; MODULE.FUNCTION()"]'
_EARLIER["pythonpath"] = 'say PYTHONPATH = "{root}/src" in [environment]'
_EARLIER["without"] = "say ignore in [outputs], or unstable_values"


def load_run(path: Path) -> Run:
    """Read one run file; anything wrong with it is one line of `UnusableInput`."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UnusableInput(f"run file {path}: can't be read: {why}") from None
    except tomllib.TOMLDecodeError as error:
        raise UnusableInput(f"run file {path}: not TOML: {error}") from None
    try:
        return Run.model_validate({"name": path.stem, **table})
    except ValidationError as error:
        raise UnusableInput(f"run file {path}: {_first_line(error)}") from None


def _first_line(error: ValidationError) -> str:
    place, what = first_problem(Run, error)
    if what.startswith(UNKNOWN):
        if instead := next((way for key, way in _EARLIER.items() if f".{place}".endswith(f".{key}")), None):
            return f"{place} is a key of an earlier version; {instead}"
        return f"{UNKNOWN} {place}{what.removeprefix(UNKNOWN)}"
    return f"{place}: {what}" if place else what


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above ``start`` that holds run files, else ``start``."""
    for folder in (start, *start.parents):
        if (folder / RUNS_FOLDER).is_dir():
            return folder
    return start


def run_path(name: str, root: Path) -> Path:
    """Return the run file of a name."""
    return root / RUNS_FOLDER / f"{name}.toml"


def find_run(name: str, root: Path) -> Run:
    """Find the run called ``name`` in ``root``, its variant for RUN.VARIANT, or the run file at that path."""
    path = Path(name)
    if path.suffix == ".toml":
        return load_run(path)
    path = run_path(name, root)
    if path.is_file():
        return load_run(path)
    run, _, variant = name.rpartition(".")
    if run and (path := run_path(run, root)).is_file():
        return load_run(path).variant(variant)
    known = ", ".join(p.stem for p in run_files(root)) or "none"
    raise UnusableInput(f"no run called {name} in {root / RUNS_FOLDER} (there: {known})")


def find_runs(names: Sequence[str], root: Path) -> list[Run]:
    """Return the runs that are named, or all of ``root``; UnusableInput if it has none."""
    runs = [find_run(name, root) for name in names] or [load_run(path) for path in run_files(root)]
    if not runs:
        raise UnusableInput(f"no run files in {root / RUNS_FOLDER}")
    return runs


def run_files(root: Path) -> list[Path]:
    """Return all run files of ``root``, sorted; none where it has no folder of them."""
    folder = root / RUNS_FOLDER
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UnusableInput(f"{folder}: can't be read: {error.strerror}") from None
